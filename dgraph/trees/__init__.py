"""Trees and cuts: spanning forests; bridges, articulation points and biconnected components."""
