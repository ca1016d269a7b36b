"""Mirrors a site by its links, with the HTTP cache middleware of Scrapy, which asks conditionally (RFC 2616)."""

import hashlib
import json
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor


class Mirror(Spider):
    name = "mirror"
    custom_settings = {
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "ERROR",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 4,
        "DOWNLOAD_DELAY": 0,
        "RETRY_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "HTTPCACHE_ENABLED": True,
        "HTTPCACHE_POLICY": "scrapy.extensions.httpcache.RFC2616Policy",
        "HTTPCACHE_STORAGE": "scrapy.extensions.httpcache.FilesystemCacheStorage",
    }
    links = LinkExtractor(
        tags=("a", "area", "link", "img", "iframe", "script"), attrs=("href", "src"), deny_extensions=[]
    )

    def __init__(self, seed, found, **kwargs):
        super().__init__(**kwargs)
        self.start_urls, self.allowed_domains = [seed], [urlsplit(seed).hostname]
        self.found = open(found, "w", encoding="utf-8")

    def parse(self, response):
        page = {"url": response.url, "sha1": hashlib.sha1(response.body).hexdigest()}
        self.found.write(json.dumps(page) + "\n")
        if isinstance(response, HtmlResponse):
            for link in self.links.extract_links(response):
                yield Request(link.url)

    def closed(self, _):
        self.found.close()
