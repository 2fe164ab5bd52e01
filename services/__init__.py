"""The product: knowledge, retrieval, answers and memory. Nothing here knows NoneBot or QQ's protocol."""
