"""Vertex programs: what they declare, what their functions read, what they mean. Nothing here runs on partitions."""
