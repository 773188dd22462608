"""The values that the console shows and that its API returns: of crawls (`crawl_models`), of the storage
(`storage_models`), of one URL (`url_models`), and of the console itself (`service_models`).

Sizes are in bytes. Times are in milliseconds since 1970 UTC; a name that ends in "_s" is in seconds, one that ends in
"_in_ms" in milliseconds from now.
"""
