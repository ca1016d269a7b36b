/* URL-seen on general stores: the operations of `cargo bench --bench drum`, one store a run, for comparison.
 *
 *     seen bdb|lmdb|rocksdb OPERATIONS DIRECTORY [SECONDS]
 *
 * benches/peers/seen.sh compiles and runs it. An operation asks whether a key is there and inserts it if it is not:
 * half of the keys are new, half are drawn among the earlier ones. The stores hold eight-byte keys without values; the
 * DRUM of the bench carries 70 bytes of context with every key as well, which a store that answers at once need not.
 *
 * All three give up durability until the end and sync once there, inside the measured time. They have more memory
 * than the DRUM takes. DIRECTORY must be empty. After SECONDS (0: never) a run ends early and says where.
 *
 * Prints one line: NAME operations= seconds= ops_per_second= cpu_seconds= peak_rss_mb= disk_mb= unique= duplicate=
 * A store is compiled in with -DWITH_BDB, -DWITH_LMDB, -DWITH_ROCKSDB.
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

#ifdef WITH_BDB
#include <db.h>
#endif
#ifdef WITH_LMDB
#include <lmdb.h>
#endif
#ifdef WITH_ROCKSDB
#include <rocksdb/c.h>
#endif

struct store {
    const char *name;
    void (*open)(const char *directory);
    /* Whether the key was new; it is there afterwards. */
    bool (*insert)(uint64_t key);
    /* Syncs what is not on disk yet. */
    void (*close)(void);
};

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

/* ---- Berkeley DB: a B-tree behind a cache of 1 GiB; no transactions, no log, no locks. The cache is private memory:
 * as a shared region it would be a file of 1 GiB beside the data. */
#ifdef WITH_BDB
static DB_ENV *bdb_environment;
static DB *bdb;

static void bdb_check(int error, const char *what)
{
    if (error != 0)
        fail(what, db_strerror(error));
}

static void bdb_open(const char *directory)
{
    bdb_check(db_env_create(&bdb_environment, 0), "db_env_create");
    bdb_check(bdb_environment->set_cachesize(bdb_environment, 1, 0, 1), "set_cachesize");
    bdb_check(bdb_environment->open(bdb_environment, directory, DB_CREATE | DB_INIT_MPOOL | DB_PRIVATE, 0644), directory);
    bdb_check(db_create(&bdb, bdb_environment, 0), "db_create");
    bdb_check(bdb->open(bdb, NULL, "seen.db", NULL, DB_BTREE, DB_CREATE, 0644), "seen.db");
}

static bool bdb_insert(uint64_t key)
{
    uint64_t ordered = __builtin_bswap64(key); /* the B-tree compares bytes */
    DBT name = {.data = &ordered, .size = sizeof ordered};
    DBT nothing = {.data = "", .size = 0};
    int error = bdb->put(bdb, NULL, &name, &nothing, DB_NOOVERWRITE);
    if (error != DB_KEYEXIST)
        bdb_check(error, "put");
    return error == 0;
}

static void bdb_close(void)
{
    bdb_check(bdb->sync(bdb, 0), "sync");
    bdb_check(bdb->close(bdb, 0), "close");
    bdb_check(bdb_environment->close(bdb_environment, 0), "close");
}
#endif

/* ---- LMDB: writes go straight to the map, never synced on the way (NOSYNC, WRITEMAP); a commit every million
 * operations; no read-ahead, since keys come in no order; integer keys, which it compares fastest. Its memory is the
 * page cache: the peak RSS counts what of the map is resident. */
#ifdef WITH_LMDB
enum { LMDB_OPERATIONS_A_COMMIT = 1000000 };
static const size_t lmdb_map_bytes = (size_t)64 << 30; /* sparse: only address space */
static MDB_env *lmdb_environment;
static MDB_txn *lmdb_transaction;
static MDB_dbi lmdb;
static unsigned lmdb_uncommitted;

static void lmdb_check(int error, const char *what)
{
    if (error != 0)
        fail(what, mdb_strerror(error));
}

static void lmdb_begin(void)
{
    lmdb_check(mdb_txn_begin(lmdb_environment, NULL, 0, &lmdb_transaction), "begin");
    lmdb_uncommitted = 0;
}

static void lmdb_open(const char *directory)
{
    lmdb_check(mdb_env_create(&lmdb_environment), "mdb_env_create");
    lmdb_check(mdb_env_set_mapsize(lmdb_environment, lmdb_map_bytes), "mapsize");
    lmdb_check(mdb_env_open(lmdb_environment, directory, MDB_NOSYNC | MDB_WRITEMAP | MDB_NORDAHEAD, 0644), directory);
    lmdb_begin();
    lmdb_check(mdb_dbi_open(lmdb_transaction, NULL, MDB_INTEGERKEY, &lmdb), "mdb_dbi_open");
}

static bool lmdb_insert(uint64_t key)
{
    if (lmdb_uncommitted == LMDB_OPERATIONS_A_COMMIT) {
        lmdb_check(mdb_txn_commit(lmdb_transaction), "commit");
        lmdb_begin();
    }
    lmdb_uncommitted++;
    MDB_val name = {sizeof key, &key};
    MDB_val nothing = {0, ""};
    int error = mdb_put(lmdb_transaction, lmdb, &name, &nothing, MDB_NOOVERWRITE);
    if (error != MDB_KEYEXIST)
        lmdb_check(error, "put");
    return error == 0;
}

static void lmdb_close(void)
{
    lmdb_check(mdb_txn_commit(lmdb_transaction), "commit");
    lmdb_check(mdb_env_sync(lmdb_environment, 1), "sync");
    mdb_env_close(lmdb_environment);
}
#endif

/* ---- RocksDB: levels, memtables of 512 MiB in all, 512 MiB of block cache, two background threads, no write-ahead
 * log. Bloom filters of 10 bits a key over tables, one over the memtable, and a hash index in blocks: every operation
 * is a point look-up, half of them of keys that are not there. Most of its time goes into the memtable's skip list;
 * smaller memtables cost more than they save. Debian's library is built without NDEBUG: one's own is faster. */
#ifdef WITH_ROCKSDB
enum { ROCKSDB_MEMORY = 512 << 20, ROCKSDB_THREADS = 2, ROCKSDB_BITS_A_KEY = 10 };
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
    rocksdb_options_set_memtable_prefix_bloom_size_ratio(options, 0.1);
    rocksdb_options_set_memtable_whole_key_filtering(options, 1);
    rocksdb_options_set_block_based_table_factory(options, tables);

    rocksdb_reads = rocksdb_readoptions_create();
    rocksdb_writes = rocksdb_writeoptions_create();
    rocksdb_writeoptions_disable_WAL(rocksdb_writes, 1);
    char *error = NULL;
    rocksdb = rocksdb_open(options, directory, &error);
    rocksdb_check(error, directory);
}

static bool rocksdb_insert(uint64_t key)
{
    uint64_t ordered = __builtin_bswap64(key); /* tables compare bytes */
    const char *name = (const char *)&ordered;
    char *error = NULL;
    rocksdb_pinnableslice_t *found = rocksdb_get_pinned(rocksdb, rocksdb_reads, name, sizeof ordered, &error);
    rocksdb_check(error, "get");
    if (found != NULL) {
        rocksdb_pinnableslice_destroy(found);
        return false;
    }
    rocksdb_put(rocksdb, rocksdb_writes, name, sizeof ordered, "", 0, &error);
    rocksdb_check(error, "put");
    return true;
}

static void rocksdb_close_store(void)
{
    /* Writes the memtables out as tables, which it syncs as it writes them. */
    rocksdb_flushoptions_t *flush = rocksdb_flushoptions_create();
    rocksdb_flushoptions_set_wait(flush, 1);
    char *error = NULL;
    rocksdb_flush(rocksdb, flush, &error);
    rocksdb_check(error, "flush");
    rocksdb_close(rocksdb);
}
#endif

static const struct store stores[] = {
#ifdef WITH_BDB
    {"bdb", bdb_open, bdb_insert, bdb_close},
#endif
#ifdef WITH_LMDB
    {"lmdb", lmdb_open, lmdb_insert, lmdb_close},
#endif
#ifdef WITH_ROCKSDB
    {"rocksdb", rocksdb_open_store, rocksdb_insert, rocksdb_close_store},
#endif
    {NULL, NULL, NULL, NULL},
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

/* The key of operation `number`: `Run::run` of benches/drum.rs draws the same. */
static uint64_t next_key(uint64_t *state, uint64_t number)
{
    *state = mix(*state + UINT64_C(0x9e3779b97f4a7c15) + number);
    uint64_t id = number % 2 == 1 ? mix(*state) % (number + 1) : number;
    return mix(id * UINT64_C(2654435761) + 99);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + (double)time.tv_usec / 1e6;
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
    return bytes / (1 << 20);
}

struct tally {
    uint64_t operations, unique, duplicate;
};

static struct tally run(const struct store *store, uint64_t operations, double seconds_max)
{
    struct tally tally = {0, 0, 0};
    uint64_t state = 12345;
    double start = now();
    while (tally.operations < operations) {
        if (store->insert(next_key(&state, tally.operations)))
            tally.unique++;
        else
            tally.duplicate++;
        tally.operations++;
        if (seconds_max > 0 && tally.operations % 1024 == 0 && now() - start > seconds_max)
            break;
    }
    return tally;
}

int main(int count, char **arguments)
{
    if (count < 4 || count > 5) {
        fprintf(stderr, "usage: seen STORE OPERATIONS DIRECTORY [SECONDS]\n");
        return 2;
    }
    const struct store *store = store_named(arguments[1]);
    uint64_t operations = strtoull(arguments[2], NULL, 10);
    const char *directory = arguments[3];
    double seconds_max = count > 4 ? strtod(arguments[4], NULL) : 0;

    double start = now();
    store->open(directory);
    struct tally tally = run(store, operations, seconds_max);
    store->close();
    double seconds = now() - start;

    if (tally.operations < operations)
        fprintf(stderr, "%s: stopped after %g s, %" PRIu64 " of %" PRIu64 " operations done\n", store->name, seconds_max,
                tally.operations, operations);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%s operations=%" PRIu64 " seconds=%.2f ops_per_second=%.0f cpu_seconds=%.2f peak_rss_mb=%ld disk_mb=%.0f"
           " unique=%" PRIu64 " duplicate=%" PRIu64 "\n",
           store->name, tally.operations, seconds, (double)tally.operations / seconds,
           seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime), usage.ru_maxrss / 1024, disk_mb(directory),
           tally.unique, tally.duplicate);
    return 0;
}
