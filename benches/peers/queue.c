/* The queue of URLs on Berkeley DB, after the way of Heritrix: one B-tree, keyed by origin, priority and order of arrival.
 *
 *     queue URLS HOSTS DIRECTORY
 *
 * benches/peers/queue.sh compiles and runs it. It inserts as many URLs as `cargo bench --bench frontier` over as many
 * hosts, in the same order (no two in a row of the same host), with the same bytes of context; then it takes everything
 * out, host after host, up to 64 URLs of each in a turn, by a cursor that reads and deletes. That is all: unlike the
 * frontier it keeps no state of hosts, asks for no rules or addresses, waits for nothing and survives no crash.
 *
 * Berkeley DB runs without transactions, log and locks, behind a cache of 128 MiB, which is the memory that the frontier is
 * given; it syncs once after the inserts and once at the end, inside the measured times. DIRECTORY must be empty.
 *
 * Prints one line: bdb urls= in_seconds= out_seconds= in_cpu= out_cpu= (microseconds a URL, without generating it)
 * disk_bytes= (a URL, after the inserts) rss_mb=
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include <db.h>

enum { CACHE_BYTES = 128 << 20, URLS_A_TURN = 64, HOSTS_OF_DOMAIN = 4, LINKS = 40 };

static DB_ENV *environment;
static DB *queue;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static void check(int error, const char *what)
{
    if (error != 0)
        fail(what, db_strerror(error));
}

static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

static uint64_t fingerprint(uint64_t kind, uint64_t number)
{
    return mix((number | kind << 60) * UINT64_C(0x9e3779b97f4a7c15));
}

/* The order of keys is that of their bytes. */
struct __attribute__((packed)) key {
    uint64_t origin;
    uint8_t priority;
    uint64_t sequence;
};

struct __attribute__((packed)) value {
    uint64_t key, host, domain, via;
    uint32_t seed;
    uint16_t depth;
    uint8_t attempts, flags;
    char hops[4];
    char url[128];
};

static char *put_number(char *at, uint64_t number, int digits)
{
    for (int n = digits - 1; n >= 0; n--, number /= 10)
        at[n] = (char)('0' + number % 10);
    return at + digits;
}

static char *put_text(char *at, const char *text)
{
    size_t length = strlen(text);
    memcpy(at, text, length);
    return at + length;
}

static const char *word(uint64_t bits)
{
    static const char *const words[32] = {
        "about",   "archive", "article", "author",  "autumn", "basket", "bridge", "camera",  "catalog", "college",  "common",
        "culture", "detail",  "edition", "energy",  "family", "feature", "garden", "gallery", "history", "journal", "letter",
        "market",  "museum",  "nature",  "opinion", "product", "research", "science", "season", "station", "travel",
    };
    return words[bits % 32];
}

/* URL number n, as benches/frontier/urls.rs makes it; says how many bytes of the value count. */
static size_t make(uint64_t n, uint64_t hosts, struct key *key, struct value *value)
{
    static const char *const names[HOSTS_OF_DOMAIN] = {"www", "news", "shop", "blog"};
    static const char *const ends[4] = {"example", "test", "co.example", "org.test"};
    uint64_t host = n * 7654321 % hosts, domain = host / HOSTS_OF_DOMAIN;
    uint64_t site = mix(domain), page = mix(n / LINKS), path = mix(~n);
    *key = (struct key){.origin = __builtin_bswap64(fingerprint(1, host)),
                        .priority = (uint8_t)(2 + (uint8_t)(path >> 40) % 3),
                        .sequence = __builtin_bswap64(n)};
    *value = (struct value){.key = fingerprint(0, n),
                            .host = fingerprint(2, host),
                            .domain = fingerprint(3, domain),
                            .via = 1 + n / LINKS * 173,
                            .seed = (uint32_t)(host % 1000),
                            .depth = 3,
                            .hops = "LLL"};
    char *at = put_text(value->url, "https://");
    at = put_text(at, names[host % HOSTS_OF_DOMAIN]);
    at = put_text(at, ".");
    at = put_text(at, word(site));
    at = put_text(at, word(site >> 5));
    at = put_number(at, domain, 6);
    at = put_text(at, ".");
    at = put_text(at, ends[(site >> 60) % 4]);
    at = put_text(at, "/");
    at = put_text(at, word(page));
    at = put_text(at, "/");
    at = put_text(at, word(path >> 5));
    at = put_text(at, "-");
    at = put_text(at, word(path >> 10));
    at = put_text(at, "-");
    at = put_number(at, n, 8);
    at = put_text(at, ".html");
    return (size_t)(at - (char *)value);
}

static void open_queue(const char *directory)
{
    check(db_env_create(&environment, 0), "db_env_create");
    check(environment->set_cachesize(environment, 0, CACHE_BYTES, 1), "set_cachesize");
    check(environment->open(environment, directory, DB_CREATE | DB_INIT_MPOOL | DB_PRIVATE, 0644), directory);
    check(db_create(&queue, environment, 0), "db_create");
    check(queue->open(queue, NULL, "queue.db", NULL, DB_BTREE, DB_CREATE, 0644), "queue.db");
}

static void push_all(uint64_t urls, uint64_t hosts)
{
    struct key key;
    struct value value;
    for (uint64_t n = 0; n < urls; n++) {
        size_t length = make(n, hosts, &key, &value);
        DBT name = {.data = &key, .size = sizeof key};
        DBT content = {.data = &value, .size = (uint32_t)length};
        check(queue->put(queue, NULL, &name, &content, 0), "put");
    }
    check(queue->sync(queue, 0), "sync");
}

/* Goes round and round over the hosts, and takes some URLs of each. */
static uint64_t take_all(void)
{
    uint64_t taken = 0, left_behind;
    do {
        DBC *cursor;
        check(queue->cursor(queue, NULL, &cursor, 0), "cursor");
        left_behind = 0;
        struct key key = {0, 0, 0};
        struct value value;
        DBT name = {.data = &key, .ulen = sizeof key, .flags = DB_DBT_USERMEM};
        DBT content = {.data = &value, .ulen = sizeof value, .flags = DB_DBT_USERMEM};
        uint64_t origin = 0, turn = 0;
        int error = cursor->get(cursor, &name, &content, DB_FIRST);
        while (error == 0) {
            if (key.origin != origin) {
                origin = key.origin;
                turn = 0;
            }
            if (turn++ == URLS_A_TURN) {
                /* the next host */
                left_behind++;
                key = (struct key){__builtin_bswap64(__builtin_bswap64(origin) + 1), 0, 0};
                name.size = sizeof key;
                error = cursor->get(cursor, &name, &content, DB_SET_RANGE);
                continue;
            }
            check(cursor->del(cursor, 0), "del");
            taken++;
            error = cursor->get(cursor, &name, &content, DB_NEXT);
        }
        if (error != DB_NOTFOUND)
            check(error, "get");
        check(cursor->close(cursor), "close");
    } while (left_behind > 0);
    check(queue->sync(queue, 0), "sync");
    return taken;
}

struct moment {
    double seconds, cpu;
};

static struct moment now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    return (struct moment){(double)time.tv_sec + (double)time.tv_nsec / 1e9, cpu};
}

static double disk_bytes(const char *directory)
{
    DIR *entries = opendir(directory);
    if (entries == NULL)
        fail(directory, "cannot be read");
    double bytes = 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        struct stat facts;
        if (fstatat(dirfd(entries), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode))
            bytes += (double)facts.st_size;
    }
    closedir(entries);
    return bytes;
}

int main(int count, char **arguments)
{
    if (count != 4) {
        fprintf(stderr, "usage: queue URLS HOSTS DIRECTORY\n");
        return 2;
    }
    uint64_t urls = strtoull(arguments[1], NULL, 10), hosts = strtoull(arguments[2], NULL, 10);
    if (urls == 0 || hosts == 0)
        fail("URLS and HOSTS", "must not be 0");
    struct moment begin = now();
    struct key key;
    struct value value;
    uint64_t sum = 0;
    for (uint64_t n = 0; n < urls; n++)
        sum += make(n, hosts, &key, &value) + value.key;
    struct moment generated = now();
    if (sum == 0)
        fail("generator", "made nothing");

    open_queue(arguments[3]);
    struct moment opened = now();
    push_all(urls, hosts);
    struct moment pushed = now();
    double disk = disk_bytes(arguments[3]);
    if (take_all() != urls)
        fail("queue", "not every URL came out");
    struct moment taken = now();
    check(queue->close(queue, 0), "close");
    check(environment->close(environment, 0), "close");

    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double generator = generated.cpu - begin.cpu, generator_seconds = generated.seconds - begin.seconds;
    double each = 1e6 / (double)urls;
    printf("bdb urls=%" PRIu64 " in_seconds=%.2f out_seconds=%.2f in_cpu=%.2f out_cpu=%.2f disk_bytes=%.1f rss_mb=%.0f\n", urls,
           pushed.seconds - opened.seconds - generator_seconds, taken.seconds - pushed.seconds,
           (pushed.cpu - opened.cpu - generator) * each, (taken.cpu - pushed.cpu) * each, disk / (double)urls,
           (double)usage.ru_maxrss * 1024 / 1e6);
    return 0;
}
