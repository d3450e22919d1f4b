// PageRank from a Parquet file to a folder of them in one run of spark-submit; graphx.py compiles it.
import org.apache.spark.graphx._
import org.apache.spark.graphx.lib._
import org.apache.spark.sql.SparkSession
import org.apache.spark.storage.StorageLevel

object FromFile {
  def main(arguments: Array[String]): Unit = {
    val Array(edges, vertices, ranks, parts) = arguments
    val spark = SparkSession.builder.getOrCreate()
    import spark.implicits._
    val rows = spark.read.parquet(edges).rdd.map(row => Edge(row.getLong(0), row.getLong(1), 1)).coalesce(parts.toInt)
    val all = spark.sparkContext.range(0, vertices.toLong, 1, parts.toInt).map(v => (v, 1))
    val graph = Graph(all, rows, 1, StorageLevel.MEMORY_ONLY, StorageLevel.MEMORY_ONLY)
    PageRank.run(graph, 20).vertices.toDF("vertex", "pagerank").write.parquet(ranks)
    spark.stop()
  }
}
