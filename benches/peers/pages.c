/* Pages on general stores: what `cargo bench --bench container` does, one store a run, for comparison.
 *
 *     pages sqlite|lmdb|rocksdb PAGES VALUE_BYTES DIRECTORY [cold]
 *
 * benches/peers/pages.sh compiles and runs it. The URLs are those of the bench; a value is VALUE_BYTES bytes that do
 * not compress. All pages are put, then 10,000 random ones are got by URL, twice: the second time counts. With `cold`
 * they are got once more after the kernel has dropped its caches and the store was opened again.
 *
 * Values are large and keys random: a store that kept values in the order of keys would write each page of its tree
 * again and again. So SQLite and LMDB append the values and keep an index of 8-byte hashes beside them, and RocksDB
 * keeps values in blob files. The URL lies with the value and is compared. All three give up durability until the end
 * and sync once there, inside the measured time. DIRECTORY must be empty.
 *
 * Prints one line: NAME pages= seconds= cpu_seconds= peak_rss_mb= disk_mb= warm_seconds= warm_p99_us= cold_seconds=
 * A store is compiled in with -DWITH_SQLITE, -DWITH_LMDB, -DWITH_ROCKSDB.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_SQLITE
#include <sqlite3.h>
#endif
#ifdef WITH_LMDB
#include <lmdb.h>
#endif
#ifdef WITH_ROCKSDB
#include <rocksdb/c.h>
#endif

enum { GETS = 10000, URL_ROOM = 96, VALUE_ROOM = 1 << 20 };

struct store {
    const char *name;
    void (*open)(const char *directory);
    void (*put)(uint64_t hash, const char *url, size_t url_bytes, const char *value, size_t value_bytes);
    /* Copies the value to `value` and returns its length. */
    size_t (*get)(uint64_t hash, const char *url, size_t url_bytes, char *value);
    /* Makes all puts durable. */
    void (*sync)(void);
    void (*close)(void);
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* ---- SQLite: a table in the order of insertion and an index table without rowids; no journal, no syncs, the file
 * locked once, a cache of 1 GiB, reads through a map, a commit every 10,000 pages. */
#ifdef WITH_SQLITE
enum { SQLITE_PAGES_A_COMMIT = 10000 };
static sqlite3 *sqlite;
static sqlite3_stmt *sqlite_put_page, *sqlite_put_hash, *sqlite_get_page;
static char sqlite_path[4096];
static uint64_t sqlite_count;

static void sqlite_check(bool right, const char *what)
{
    if (!right)
        fail(what, sqlite3_errmsg(sqlite));
}

static void sqlite_run(const char *statement)
{
    sqlite_check(sqlite3_exec(sqlite, statement, NULL, NULL, NULL) == SQLITE_OK, statement);
}

static sqlite3_stmt *sqlite_prepared(const char *statement)
{
    sqlite3_stmt *prepared;
    sqlite_check(sqlite3_prepare_v2(sqlite, statement, -1, &prepared, NULL) == SQLITE_OK, statement);
    return prepared;
}

static void sqlite_open(const char *directory)
{
    snprintf(sqlite_path, sizeof sqlite_path, "%s/pages.db", directory);
    sqlite_check(sqlite3_open(sqlite_path, &sqlite) == SQLITE_OK, sqlite_path);
    sqlite_run("PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
               "PRAGMA locking_mode = EXCLUSIVE; PRAGMA cache_size = -1048576; PRAGMA mmap_size = 68719476736;"
               "CREATE TABLE IF NOT EXISTS pages (id INTEGER PRIMARY KEY, url TEXT NOT NULL, value BLOB NOT NULL);"
               "CREATE TABLE IF NOT EXISTS hashes (hash INTEGER, id INTEGER, PRIMARY KEY (hash, id)) WITHOUT ROWID;");
    sqlite_put_page = sqlite_prepared("INSERT INTO pages (url, value) VALUES (?, ?)");
    sqlite_put_hash = sqlite_prepared("INSERT INTO hashes VALUES (?, ?)");
    sqlite_get_page = sqlite_prepared("SELECT value FROM hashes JOIN pages USING (id) WHERE hash = ? AND url = ?");
    sqlite_run("BEGIN");
}

static void sqlite_put(uint64_t hash, const char *url, size_t url_bytes, const char *value, size_t value_bytes)
{
    sqlite3_bind_text(sqlite_put_page, 1, url, (int)url_bytes, SQLITE_STATIC);
    sqlite3_bind_blob(sqlite_put_page, 2, value, (int)value_bytes, SQLITE_STATIC);
    sqlite_check(sqlite3_step(sqlite_put_page) == SQLITE_DONE, "insert");
    sqlite3_reset(sqlite_put_page);
    sqlite3_bind_int64(sqlite_put_hash, 1, (int64_t)hash);
    sqlite3_bind_int64(sqlite_put_hash, 2, sqlite3_last_insert_rowid(sqlite));
    sqlite_check(sqlite3_step(sqlite_put_hash) == SQLITE_DONE, "insert");
    sqlite3_reset(sqlite_put_hash);
    if (++sqlite_count % SQLITE_PAGES_A_COMMIT == 0)
        sqlite_run("COMMIT; BEGIN");
}

static size_t sqlite_get(uint64_t hash, const char *url, size_t url_bytes, char *value)
{
    sqlite3_bind_int64(sqlite_get_page, 1, (int64_t)hash);
    sqlite3_bind_text(sqlite_get_page, 2, url, (int)url_bytes, SQLITE_STATIC);
    sqlite_check(sqlite3_step(sqlite_get_page) == SQLITE_ROW, url);
    size_t bytes = (size_t)sqlite3_column_bytes(sqlite_get_page, 0);
    memcpy(value, sqlite3_column_blob(sqlite_get_page, 0), bytes);
    sqlite3_reset(sqlite_get_page);
    return bytes;
}

static void sqlite_sync(void)
{
    sqlite_run("COMMIT");
    int file = open(sqlite_path, O_RDWR);
    if (file < 0 || fsync(file) != 0)
        fail(sqlite_path, "cannot be synced");
    close(file);
    sqlite_run("BEGIN");
}

static void sqlite_close(void)
{
    sqlite_run("COMMIT");
    sqlite3_finalize(sqlite_put_page);
    sqlite3_finalize(sqlite_put_hash);
    sqlite3_finalize(sqlite_get_page);
    sqlite_check(sqlite3_close(sqlite) == SQLITE_OK, "close");
}
#endif

/* ---- LMDB: values appended under rising numbers, numbers under hashes; writes go straight to the map, never synced on
 * the way; a commit every 100,000 pages; no read-ahead. Its memory is the page cache: the peak RSS counts what of the
 * map is resident. A value is the URL, a zero byte, the page. */
#ifdef WITH_LMDB
enum { LMDB_PAGES_A_COMMIT = 100000 };
static const size_t lmdb_map_bytes = (size_t)128 << 30; /* sparse: only address space */
static MDB_env *lmdb_environment;
static MDB_txn *lmdb_transaction;
static MDB_dbi lmdb_pages, lmdb_hashes;
static uint64_t lmdb_count;

static void lmdb_check(int error, const char *what)
{
    if (error != 0)
        fail(what, mdb_strerror(error));
}

static void lmdb_open(const char *directory)
{
    lmdb_check(mdb_env_create(&lmdb_environment), "mdb_env_create");
    lmdb_check(mdb_env_set_mapsize(lmdb_environment, lmdb_map_bytes), "mapsize");
    lmdb_check(mdb_env_set_maxdbs(lmdb_environment, 2), "maxdbs");
    lmdb_check(mdb_env_open(lmdb_environment, directory, MDB_NOSYNC | MDB_WRITEMAP | MDB_NORDAHEAD, 0644), directory);
    lmdb_check(mdb_txn_begin(lmdb_environment, NULL, 0, &lmdb_transaction), "begin");
    lmdb_check(mdb_dbi_open(lmdb_transaction, "pages", MDB_CREATE | MDB_INTEGERKEY, &lmdb_pages), "pages");
    unsigned kind = MDB_CREATE | MDB_INTEGERKEY | MDB_DUPSORT | MDB_INTEGERDUP | MDB_DUPFIXED;
    lmdb_check(mdb_dbi_open(lmdb_transaction, "hashes", kind, &lmdb_hashes), "hashes");
}

static void lmdb_put(uint64_t hash, const char *url, size_t url_bytes, const char *value, size_t value_bytes)
{
    uint64_t number = lmdb_count++;
    MDB_val number_key = {sizeof number, &number}, hash_key = {sizeof hash, &hash};
    MDB_val page = {url_bytes + 1 + value_bytes, NULL};
    lmdb_check(mdb_put(lmdb_transaction, lmdb_pages, &number_key, &page, MDB_APPEND | MDB_RESERVE), "put");
    memcpy(page.mv_data, url, url_bytes + 1);
    memcpy((char *)page.mv_data + url_bytes + 1, value, value_bytes);
    lmdb_check(mdb_put(lmdb_transaction, lmdb_hashes, &hash_key, &number_key, 0), "put");
    if (lmdb_count % LMDB_PAGES_A_COMMIT == 0) {
        lmdb_check(mdb_txn_commit(lmdb_transaction), "commit");
        lmdb_check(mdb_txn_begin(lmdb_environment, NULL, 0, &lmdb_transaction), "begin");
    }
}

static size_t lmdb_get(uint64_t hash, const char *url, size_t url_bytes, char *value)
{
    MDB_cursor *cursor;
    lmdb_check(mdb_cursor_open(lmdb_transaction, lmdb_hashes, &cursor), "cursor");
    MDB_val hash_key = {sizeof hash, &hash}, number, page;
    size_t bytes = 0;
    int error = mdb_cursor_get(cursor, &hash_key, &number, MDB_SET_KEY);
    while (error == 0 && bytes == 0) {
        lmdb_check(mdb_get(lmdb_transaction, lmdb_pages, &number, &page), "get");
        if (memcmp(page.mv_data, url, url_bytes + 1) == 0) {
            bytes = page.mv_size - url_bytes - 1;
            memcpy(value, (char *)page.mv_data + url_bytes + 1, bytes);
        } else {
            error = mdb_cursor_get(cursor, &hash_key, &number, MDB_NEXT_DUP);
        }
    }
    mdb_cursor_close(cursor);
    if (bytes == 0)
        fail(url, "was not found");
    return bytes;
}

static void lmdb_sync(void)
{
    lmdb_check(mdb_txn_commit(lmdb_transaction), "commit");
    lmdb_check(mdb_env_sync(lmdb_environment, 1), "sync");
    lmdb_check(mdb_txn_begin(lmdb_environment, NULL, 0, &lmdb_transaction), "begin");
}

static void lmdb_close(void)
{
    lmdb_check(mdb_txn_commit(lmdb_transaction), "commit");
    mdb_env_close(lmdb_environment);
}
#endif

/* ---- RocksDB: blob files for the values, memtables of 512 MiB in all, 512 MiB of block cache, two background threads,
 * no write-ahead log, no compression, Bloom filters of 10 bits a key and a hash index in blocks. The key is the hash
 * and the URL. Debian's library is built without NDEBUG: one's own is faster. */
#ifdef WITH_ROCKSDB
enum { ROCKSDB_MEMORY = 512 << 20, ROCKSDB_THREADS = 2, ROCKSDB_BITS_A_KEY = 10, ROCKSDB_BLOB_MIN = 256 };
static rocksdb_t *rocksdb;
static rocksdb_readoptions_t *rocksdb_reads;
static rocksdb_writeoptions_t *rocksdb_writes;

static void rocksdb_check(const char *error, const char *what)
{
    if (error != NULL)
        fail(what, error);
}

static void rocksdb_open_store(const char *directory)
{
    rocksdb_block_based_table_options_t *tables = rocksdb_block_based_options_create();
    rocksdb_block_based_options_set_filter_policy(tables, rocksdb_filterpolicy_create_bloom_full(ROCKSDB_BITS_A_KEY));
    rocksdb_block_based_options_set_block_cache(tables, rocksdb_cache_create_lru(ROCKSDB_MEMORY));
    rocksdb_block_based_options_set_data_block_index_type(
        tables, rocksdb_block_based_table_data_block_index_type_binary_search_and_hash);

    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_options_set_create_if_missing(options, 1);
    rocksdb_options_increase_parallelism(options, ROCKSDB_THREADS);
    rocksdb_options_optimize_level_style_compaction(options, ROCKSDB_MEMORY);
    rocksdb_options_set_compression(options, rocksdb_no_compression);
    rocksdb_options_set_enable_blob_files(options, 1);
    rocksdb_options_set_min_blob_size(options, ROCKSDB_BLOB_MIN);
    rocksdb_options_set_block_based_table_factory(options, tables);

    rocksdb_reads = rocksdb_readoptions_create();
    rocksdb_writes = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(rocksdb_writes, 1);
    char *error = NULL;
    rocksdb = rocksdb_open(options, directory, &error);
    rocksdb_check(error, directory);
}

static size_t rocksdb_key(char *key, uint64_t hash, const char *url, size_t url_bytes)
{
    memcpy(key, &hash, sizeof hash);
    memcpy(key + sizeof hash, url, url_bytes);
    return sizeof hash + url_bytes;
}

static void rocksdb_put_page(uint64_t hash, const char *url, size_t url_bytes, const char *value, size_t value_bytes)
{
    char key[sizeof hash + URL_ROOM];
    char *error = NULL;
    size_t key_bytes = rocksdb_key(key, hash, url, url_bytes);
    rocksdb_put(rocksdb, rocksdb_writes, key, key_bytes, value, value_bytes, &error);
    rocksdb_check(error, "put");
}

static size_t rocksdb_get_page(uint64_t hash, const char *url, size_t url_bytes, char *value)
{
    char key[sizeof hash + URL_ROOM];
    char *error = NULL;
    size_t key_bytes = rocksdb_key(key, hash, url, url_bytes), bytes;
    rocksdb_pinnableslice_t *found = rocksdb_get_pinned(rocksdb, rocksdb_reads, key, key_bytes, &error);
    rocksdb_check(error, "get");
    if (found == NULL)
        fail(url, "was not found");
    const char *page = rocksdb_pinnableslice_value(found, &bytes);
    memcpy(value, page, bytes);
    rocksdb_pinnableslice_destroy(found);
    return bytes;
}

static void rocksdb_sync_store(void)
{
    /* Writes the memtables out as tables and blob files, which it syncs as it writes them. */
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(flush, 1);
    char *error = NULL;
    rocksdb_flush(rocksdb, flush, &error);
    rocksdb_check(error, "flush");
    rocksdb_flushoptions_destroy(flush);
}

static void rocksdb_close_store(void)
{
    rocksdb_close(rocksdb);
}
#endif

static const struct store stores[] = {
#ifdef WITH_SQLITE
    {"sqlite", sqlite_open, sqlite_put, sqlite_get, sqlite_sync, sqlite_close},
#endif
#ifdef WITH_LMDB
    {"lmdb", lmdb_open, lmdb_put, lmdb_get, lmdb_sync, lmdb_close},
#endif
#ifdef WITH_ROCKSDB
    {"rocksdb", rocksdb_open_store, rocksdb_put_page, rocksdb_get_page, rocksdb_sync_store, rocksdb_close_store},
#endif
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

static const struct store *store_named(const char *name)
{
    for (const struct store *store = stores; store->name != NULL; store++)
        if (strcmp(store->name, name) == 0)
            return store;
    fail(name, "no such store was compiled in");
    return NULL;
}

static uint64_t mix(uint64_t bits)
{
    bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
    return bits ^ bits >> 31;
}

/* The URL of page `number`, as `Pages::name` of benches/container/pages.rs writes it. */
static size_t url_of(uint64_t number, char *url)
{
    return (size_t)snprintf(url, URL_ROOM, "http://host-%06" PRIu64 ".example/section/%03" PRIu64 "/page-%010" PRIu64 ".html",
                            number / 50 % 1000000, number % 7, number);
}

static uint64_t hash_of(const char *url)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *url != 0; url++)
        hash = (hash ^ (unsigned char)*url) * UINT64_C(0x100000001b3);
    return mix(hash);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static long peak_rss_mb(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
}

/* What the files of the directory take on the disk: LMDB's is sparse. */
static double disk_mb(const char *directory)
{
    DIR *entries = opendir(directory);
    if (entries == NULL)
        fail(directory, "cannot be read");
    double bytes = 0;
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        struct stat facts;
        if (fstatat(dirfd(entries), entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(facts.st_mode))
            bytes += (double)facts.st_blocks * 512;
    }
    closedir(entries);
    return bytes / 1e6;
}

static void put_all(const struct store *store, uint64_t pages, size_t value_bytes)
{
    /* values are windows of bytes that do not compress */
    static char noise[2 * VALUE_ROOM];
    uint64_t state = 7;
    for (size_t at = 0; at < sizeof noise; at += sizeof state) {
        state = mix(state + UINT64_C(0x9e3779b97f4a7c15));
        memcpy(noise + at, &state, sizeof state);
    }
    for (uint64_t number = 0; number < pages; number++) {
        char url[URL_ROOM];
        size_t url_bytes = url_of(number, url);
        store->put(hash_of(url), url, url_bytes, noise + mix(number) % VALUE_ROOM, value_bytes);
    }
    store->sync();
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

struct gets {
    double seconds, p99_us;
};

static struct gets get_all(const struct store *store, uint64_t pages, size_t value_bytes)
{
    static char value[VALUE_ROOM];
    static double micros[GETS];
    double start = now(), before = start;
    for (int count = 0; count < GETS; count++) {
        char url[URL_ROOM];
        size_t url_bytes = url_of(mix((uint64_t)count + 11) % pages, url);
        if (store->get(hash_of(url), url, url_bytes, value) != value_bytes)
            fail(url, "has another length");
        double after = now();
        micros[count] = (after - before) * 1e6;
        before = after;
    }
    struct gets gets = {now() - start, 0};
    qsort(micros, GETS, sizeof *micros, by_value);
    gets.p99_us = micros[GETS * 99 / 100];
    return gets;
}

static bool drop_caches(void)
{
    sync();
    FILE *file = fopen("/proc/sys/vm/drop_caches", "w");
    return file != NULL && fputs("3", file) >= 0 && fclose(file) == 0;
}

int main(int count, char **arguments)
{
    if (count < 5 || count > 6) {
        fprintf(stderr, "usage: pages STORE PAGES VALUE_BYTES DIRECTORY [cold]\n");
        return 2;
    }
    const struct store *store = store_named(arguments[1]);
    uint64_t pages = strtoull(arguments[2], NULL, 10);
    size_t value_bytes = strtoull(arguments[3], NULL, 10);
    const char *directory = arguments[4];
    if (pages == 0 || value_bytes == 0 || value_bytes > VALUE_ROOM)
        fail("pages", "PAGES or VALUE_BYTES out of range");

    double start = now();
    store->open(directory);
    put_all(store, pages, value_bytes);
    double seconds = now() - start, cpu = cpu_seconds();
    long rss_mb = peak_rss_mb();
    get_all(store, pages, value_bytes); /* brings them into memory */
    struct gets warm = get_all(store, pages, value_bytes);
    char cold[32] = "-";
    store->close();
    if (count > 5 && drop_caches()) {
        store->open(directory);
        snprintf(cold, sizeof cold, "%.3f", get_all(store, pages, value_bytes).seconds);
        store->close();
    }
    printf("%s pages=%" PRIu64 " seconds=%.3f cpu_seconds=%.2f peak_rss_mb=%ld disk_mb=%.0f warm_seconds=%.4f"
           " warm_p99_us=%.1f cold_seconds=%s\n",
           store->name, pages, seconds, cpu, rss_mb, disk_mb(directory), warm.seconds, warm.p99_us, cold);
    return 0;
}
