"""A first crawl from Python: `python examples/first_crawl.py my-crawl https://example.org/ --contact
mailto:you@example.org`.

It fetches up to a hundred pages of one host, extracts and filters their text, removes duplicates and writes shards of
tokens. Stop it when you like and start it again: it goes on where it was. The commands work on the same directory:
`thresher status --project my-crawl`.
"""

import argparse
from pathlib import Path

import thresher


def main() -> None:
    """Crawl, process, and show what is kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("directory", type=Path, help="project directory, made if there is none")
    parser.add_argument("seeds", nargs="+", help="URLs to begin with")
    parser.add_argument("--contact", default="", help="who runs the crawl; it goes into the User-Agent")
    args = parser.parse_args()

    # A project is a directory with a thresher.toml, which says how to crawl and what to keep.
    if (args.directory / "thresher.toml").exists():
        project = thresher.Project(args.directory)
    else:
        project = thresher.Project.create(args.directory, contact=args.contact)

    # From URLs to an archive of WARC files. Hosts are asked slowly, and their robots.txt is obeyed.
    project.seed(args.seeds, scope="host")
    crawled = project.crawl(max_pages=100)
    print(f"crawled: {crawled.requests} requests, {crawled.outcomes.get('fetched', 0)} pages fetched")

    # From the archive to text. Every page is kept, or dropped with a rule and a reason.
    project.process()
    removed = project.dedup()
    print(f"duplicates: {sum(removed.values())} removed")
    for stage in project.funnel().stages:
        print(f"  {stage.name:<45}{stage.documents:>6}")
    for document in project.documents():
        print(f"{document['language']}  {document['title'][:50]:<50}  {document['url']}")

    # From text to tokens; each byte is a token here. Without a tokenizer the shards would have texts.
    dataset = project.export(args.directory / "out", tokenizer="bytes")
    print(f"wrote {args.directory / 'out'}: {dataset.documents} documents, {dataset.tokens} tokens")


if __name__ == "__main__":
    try:
        main()
    except thresher.ThresherError as error:
        raise SystemExit(f"first_crawl.py: {error}") from None
