"""Worker processes of this machine: the pool that makes parts (`worker_pool`), and crawl workers (`crawl_worker`)."""
