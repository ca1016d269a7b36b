"""Follows every link of the seeds' hosts, or of all hosts, and stores nothing: Scrapy's side of `cargo bench --bench crawl`."""

from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor


class Everything(Spider):
    name = "everything"
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "INFO",
        "CONCURRENT_REQUESTS": 64,
        "DEPTH_LIMIT": 0,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
    }
    links = LinkExtractor(
        tags=("a", "area", "link", "img", "iframe", "script"), attrs=("href", "src"), deny_extensions=[]
    )

    def __init__(self, seeds="", everywhere="0", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = seeds.split()
        if everywhere == "0":
            self.allowed_domains = [urlsplit(url).hostname for url in self.start_urls]

    def parse(self, response):
        if isinstance(response, HtmlResponse):
            for link in self.links.extract_links(response):
                yield Request(link.url)
