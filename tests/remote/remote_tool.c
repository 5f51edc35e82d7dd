// SPDX-License-Identifier: Apache-2.0
// For the tests of the remote cache: many questions of one process, as lines of standard input.
//
//   put NAME BYTES PLACE [LIST] : shares an entry; its key and payload follow from NAME and BYTES
//   get NAME PLACE              : "NAME BYTES" if it came and is right, "NAME wrong", or "NAME miss"
//   list LIST                   : the keys' first digits, in order
//   fork NAME PLACE             : get, in a child and then in this process
//   threads COUNT NAME PLACE    : get, in as many threads at once; prints how many had it
//   session                     : tells the warnings so far, and goes on as another job of the same process
//   key NAME                    : the key
//   bind                        : binds a kernel to cuda:0: "bound, N compiled, N cached", or the code of the error
//   certificate FILE            : writes one for 127.0.0.1, signed by itself, and behind it its private key
// PLACE is config or binary. The remote is TILEC_REMOTE_CACHE. At the end the warnings are told.
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "runtime/config_cache.h"
#include "runtime/remote.h"
#include "tests/embed/embed.h"

struct tool {
    struct arena *arena;
    struct cache_session session;
};

static struct cache_key key_of(const char *name)
{
    return cache_hash(&(struct cache_part){name, strlen(name)}, 1);
}

// Any bytes, others for each name and length.
static char *payload_of(const char *name, size_t length)
{
    char *data = malloc(length + 1);
    uint32_t state = (uint32_t)(length * 2654435761u);
    for (const char *at = name; *at; at++) state = state * 31 + (unsigned char)*at;
    for (size_t i = 0; data && i < length; i++) data[i] = (char)((state = state * 1664525 + 1013904223) >> 24);
    return data;
}

static enum cache_place place_of(const char *word)
{
    return strcmp(word, "config") == 0 ? CACHE_CONFIGS : CACHE_OBJECTS;
}

static void begin(struct tool *tool)
{
    struct status status = cache_session_begin(tool->arena, NULL, &tool->session);
    if (!status.ok) printf("%s: %s\n", status.code, status.reason), exit(2);
}

static void tell(struct tool *tool)
{
    for (int i = 0; i < tool->session.warning_count; i++)
        printf("%s: %s\n", tool->session.warnings[i].code, tool->session.warnings[i].text);
}

static void put(struct tool *tool, const char *name, size_t length, const char *place, const char *list)
{
    static int64_t age;
    struct cache_key key = key_of(name);
    struct cache cache = {.folder = -1, .session = &tool->session};
    char *data = payload_of(name, length);
    cache_share(&cache, place_of(place), &key, *list ? list : NULL, ++age, data, length);
    free(data);
}

static bool get(struct tool *tool, const char *name, const char *place, bool quiet)
{
    struct cache_key key = key_of(name);
    struct cache cache = {.folder = -1, .session = &tool->session};
    struct text text = {0};
    bool found = cache_fetch(&cache, place_of(place), &key, &text);
    char *data = payload_of(name, text.length);
    bool right = found && (text.length == 0 || memcmp(data, text.data, text.length) == 0);
    if (!quiet && right) printf("%s %zu\n", name, text.length);
    else if (!quiet) printf("%s %s\n", name, found ? "wrong" : "miss");
    free(data);
    text_free(&text);
    return right;
}

static void print_listed(void *user, const struct cache_key *key, const char *payload, size_t length)
{
    (void)user, (void)payload, (void)length;
    printf(" %.8s", key->hex);
}

static void list(struct tool *tool, const char *name)
{
    struct cache cache = {.folder = -1, .session = &tool->session};
    printf("listed");
    cache_fetch_list(&cache, name, print_listed, NULL);
    printf("\n");
}

static void get_forked(struct tool *tool, const char *name, const char *place)
{
    int status = 1;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(!get(tool, name, place, true));
    waitpid(child, &status, 0);
    printf("the child %s\n", status == 0 ? "has it" : "misses it");
    get(tool, name, place, false);
}

struct threaded {
    const char *name, *place;
};

static void *get_in_thread(void *data)
{
    const struct threaded *threaded = data;
    struct tool tool = {.arena = arena_new()};
    begin(&tool);
    bool found = get(&tool, threaded->name, threaded->place, true);
    arena_free(tool.arena);
    return found ? data : NULL;
}

static void get_in_threads(int count, const char *name, const char *place)
{
    enum { MOST = 16 };
    struct threaded threaded = {name, place};
    pthread_t threads[MOST];
    int found = 0;
    for (int i = 0; i < count && i < MOST; i++)
        if (pthread_create(&threads[i], NULL, get_in_thread, &threaded) != 0) exit(99);
    for (int i = 0; i < count && i < MOST; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        found += result != NULL;
    }
    printf("%d threads have it\n", found);
}

static void bind_kernel(void)
{
    struct session session;
    struct sums sums;
    sums_fill(&sums, 50, 1000, 64, NULL, NULL, NULL);
    if (session_begin(&session, JAGGED_SUM, "cuda", sums.arguments, 3, NULL) == TILEC_OK) {
        struct tilec_bound_counts counts = tilec_bound_counts(session.bound);
        printf("bound, %d compiled, %d cached\n", counts.compiled, counts.cached);
    }
    else printf("%s\n", tilec_report_message(session.report, tilec_report_count(session.report) - 1).code);
    session_end(&session);
}

static void write_certificate(const char *path)
{
    enum { YEAR = 365 * 86400 };
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = X509_new();
    FILE *file = fopen(path, "w");
    if (!key || !certificate || !file) exit(99);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
    bool ok = names && X509_set_version(certificate, 2) && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) &&
              X509_gmtime_adj(X509_getm_notBefore(certificate), -YEAR) &&
              X509_gmtime_adj(X509_getm_notAfter(certificate), YEAR) &&
              X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0) &&
              X509_set_issuer_name(certificate, name) && X509_add_ext(certificate, names, -1) &&
              X509_set_pubkey(certificate, key) && X509_sign(certificate, key, EVP_sha256()) &&
              PEM_write_X509(file, certificate) && PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL);
    if (fclose(file) != 0 || !ok) exit(99);
    X509_EXTENSION_free(names);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

int main(void)
{
    char line[256], words[4][64];
    struct tool tool = {.arena = arena_new()};
    begin(&tool);
    while (fgets(line, sizeof line, stdin)) {
        char verb[16] = "";
        memset(words, 0, sizeof words);
        sscanf(line, "%15s %63s %63s %63s %63s", verb, words[0], words[1], words[2], words[3]);
        if (strcmp(verb, "put") == 0) put(&tool, words[0], strtoul(words[1], NULL, 10), words[2], words[3]);
        else if (strcmp(verb, "get") == 0) get(&tool, words[0], words[1], false);
        else if (strcmp(verb, "list") == 0) list(&tool, words[0]);
        else if (strcmp(verb, "fork") == 0) get_forked(&tool, words[0], words[1]);
        else if (strcmp(verb, "threads") == 0) get_in_threads(atoi(words[0]), words[1], words[2]);
        else if (strcmp(verb, "session") == 0) tell(&tool), begin(&tool);
        else if (strcmp(verb, "bind") == 0) bind_kernel();
        else if (strcmp(verb, "certificate") == 0) write_certificate(words[0]);
        else if (strcmp(verb, "key") == 0) printf("%s\n", key_of(words[0]).hex);
        else exit(99);
    }
    tell(&tool);
    arena_free(tool.arena);
    return 0;
}
