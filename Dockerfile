# The crawler in a container without a shell, as a user without rights. /crawl is the crawl directory.
#
#     docker build -t crawler .
#     docker run --rm -v news:/crawl --stop-timeout 60 crawler https://example.com/
#     docker run --rm -v news:/crawl crawler list
FROM rust:1.92-slim-bookworm AS build
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist --bin crawler \
    && objcopy --strip-debug target/dist/crawler /crawler \
    && mkdir /crawl

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /crawler /usr/bin/crawler
# a new volume gets the owner of this directory
COPY --from=build --chown=65532:65532 /crawl /crawl
# the store of packaging/cluster/compose.yaml
COPY --from=build --chown=65532:65532 /crawl /store
USER 65532:65532
# the default of --dir is ./crawl
WORKDIR /
VOLUME ["/crawl"]
# SIGTERM ends a crawl gracefully: requests in flight finish, and a checkpoint is made
STOPSIGNAL SIGTERM
# asks the running crawl over the socket in its directory; recovery after a kill comes before that socket
HEALTHCHECK --interval=30s --timeout=10s --start-period=5m --retries=3 \
    CMD ["/usr/bin/crawler", "ctl", "status", "--dir", "/crawl"]
ENTRYPOINT ["/usr/bin/crawler"]
CMD ["--help"]
