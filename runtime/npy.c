// SPDX-License-Identifier: Apache-2.0
// .npy files. In: a path, or a file's bytes. Out: a tensor in row-major order, or what is wrong with the file.
// The format (numpy.lib.format, versions 1.0 to 3.0): the bytes 93 'NUMPY', major, minor, the head's length (2 bytes,
// from version 2 on 4 bytes, little-endian), a Python dict with the keys descr, fortran_order and shape, the data.
// The one idea: nothing is believed. The head decides how many bytes must follow, and exactly so many must.
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/build.h"
#include "runtime/data.h"

enum { MAGIC_BYTES = 8, LONGEST_HEAD = 1 << 20 };

static const struct {
    const char *descr;
    enum ir_type type;
} npy_types[] = {
    {"b1", TYPE_BOOL}, {"i1", TYPE_I8}, {"u1", TYPE_U8}, {"i4", TYPE_I32}, {"i8", TYPE_I64},
    {"f2", TYPE_F16}, {"f4", TYPE_F32}, {"f8", TYPE_F64},
};

// ---------------------------------------------------------------------------------------------- the dict

struct head_reader {
    struct arena *arena;
    const char *path;
    const char *at, *end;
    struct npy_header *header;
    bool has_type, has_order, has_shape;
};

static struct status bad_head(const struct head_reader *reader, const char *what)
{
    return status_failed(reader->arena, "launch.npy", "%s is not a well-formed .npy file: %s", reader->path, what);
}

static void skip_space(struct head_reader *reader)
{
    while (reader->at < reader->end && strchr(" \t\r\n\f\v", *reader->at) && *reader->at) reader->at++;
}

static bool take(struct head_reader *reader, char symbol)
{
    skip_space(reader);
    if (reader->at == reader->end || *reader->at != symbol) return false;
    reader->at++;
    return true;
}

// A Python string without escapes. NULL if there is none.
static const char *take_string(struct head_reader *reader)
{
    skip_space(reader);
    if (reader->at == reader->end || (*reader->at != '\'' && *reader->at != '"')) return NULL;
    char quote = *reader->at++;
    const char *begin = reader->at;
    while (reader->at < reader->end && *reader->at != quote && *reader->at != '\\') {
        if (*reader->at < ' ' || *reader->at > '~') return NULL;
        reader->at++;
    }
    if (reader->at == reader->end || *reader->at != quote) return NULL;
    return arena_copy(reader->arena, begin, (size_t)(reader->at++ - begin));
}

static bool take_word(struct head_reader *reader, const char *word)
{
    skip_space(reader);
    size_t length = strlen(word);
    if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length) != 0) return false;
    reader->at += length;
    return true;
}

// A non-negative integer, perhaps with Python 2's L behind it.
static bool take_extent(struct head_reader *reader, int64_t *extent)
{
    skip_space(reader);
    const char *begin = reader->at;
    int64_t value = 0;
    for (; reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9'; reader->at++) {
        if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *reader->at - '0', &value))
            return false;
    }
    if (reader->at == begin) return false;
    if (reader->at < reader->end && *reader->at == 'L') reader->at++;
    *extent = value;
    return true;
}

static struct status read_type(struct head_reader *reader)
{
    const char *descr = take_string(reader);
    if (!descr) return bad_head(reader, "'descr' is not the name of one type (records are not supported)");
    reader->has_type = true;
    bool has_order = *descr && strchr("<>=|", *descr);
    const char *kind = descr + has_order;
    for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++) {
        if (strcmp(kind, npy_types[i].descr) != 0) continue;
        reader->header->type = npy_types[i].type;
        bool matters = ir_type_bytes(npy_types[i].type) > 1;
        if (matters && (!has_order || *descr != '<'))
            return status_failed(reader->arena, "launch.npy", "%s holds elements of type '%s': only little-endian ones can be read ('<%s')",
                                 reader->path, descr, kind);
        return STATUS_OK;
    }
    return status_failed(reader->arena, "launch.npy",
                         "%s holds elements of type '%s'; those that can be read are b1 i1 u1 i4 i8 f2 f4 f8", reader->path, descr);
}

static struct status read_order(struct head_reader *reader)
{
    reader->has_order = true;
    reader->header->fortran = take_word(reader, "True");
    if (!reader->header->fortran && !take_word(reader, "False"))
        return bad_head(reader, "'fortran_order' is neither True nor False");
    return STATUS_OK;
}

static struct status read_shape(struct head_reader *reader)
{
    struct npy_header *header = reader->header;
    reader->has_shape = true;
    header->rank = 0;
    if (!take(reader, '(')) return bad_head(reader, "'shape' is not a tuple of integers");
    bool comma = true;
    while (!take(reader, ')')) {
        int64_t extent;
        if (!comma || !take_extent(reader, &extent))
            return bad_head(reader, "'shape' is not a tuple of integers from 0 to 2^63 - 1");
        if (header->rank == IR_MAX_RANK)
            return status_failed(reader->arena, "launch.npy", "%s has more than %d dimensions, which no kernel takes", reader->path,
                                 IR_MAX_RANK);
        header->shape[header->rank++] = extent;
        comma = take(reader, ',');
    }
    if (header->rank == 1 && !comma) return bad_head(reader, "'shape' is not a tuple of integers");
    return STATUS_OK;
}

static struct status read_entry(struct head_reader *reader)
{
    const char *key = take_string(reader);
    if (!key || !take(reader, ':')) return bad_head(reader, "its head is not a Python dict");
    bool *seen = strcmp(key, "descr") == 0 ? &reader->has_type
               : strcmp(key, "fortran_order") == 0 ? &reader->has_order
               : strcmp(key, "shape") == 0 ? &reader->has_shape : NULL;
    if (!seen) return bad_head(reader, arena_printf(reader->arena, "its head has an unknown key '%s'", key));
    if (*seen) return bad_head(reader, arena_printf(reader->arena, "its head has the key '%s' twice", key));
    if (seen == &reader->has_type) return read_type(reader);
    if (seen == &reader->has_order) return read_order(reader);
    return read_shape(reader);
}

static struct status read_dict(struct head_reader *reader)
{
    if (!take(reader, '{')) return bad_head(reader, "its head is not a Python dict");
    bool comma = true;
    while (!take(reader, '}')) {
        if (!comma) return bad_head(reader, "its head is not a Python dict");
        struct status status = read_entry(reader);
        if (!status.ok) return status;
        comma = take(reader, ',');
    }
    skip_space(reader);
    if (reader->at != reader->end) return bad_head(reader, "there is something behind its head's dict");
    if (!reader->has_type) return bad_head(reader, "its head lacks the key 'descr'");
    if (!reader->has_order) return bad_head(reader, "its head lacks the key 'fortran_order'");
    if (!reader->has_shape) return bad_head(reader, "its head lacks the key 'shape'");
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- head and data

// Where the dict begins and ends, from the file's first bytes.
static struct status locate_dict(struct arena *arena, const char *path, const unsigned char *bytes, size_t length,
                                 size_t *begin, size_t *end)
{
    static const unsigned char magic[6] = {0x93, 'N', 'U', 'M', 'P', 'Y'};
    *begin = *end = MAGIC_BYTES + 4;
    if (length == 0) return status_failed(arena, "launch.npy", "%s is empty, not a .npy file", path);
    if (memcmp(bytes, magic, length < sizeof magic ? length : sizeof magic) != 0)
        return status_failed(arena, "launch.npy", "%s is not a .npy file: it doesn't begin with \\x93NUMPY", path);
    struct status cut = status_failed(arena, "launch.npy", "%s is cut short: it ends inside its head, after %zu bytes", path, length);
    if (length < MAGIC_BYTES) return cut;
    int major = bytes[6], minor = bytes[7];
    if (major < 1 || major > 3 || minor != 0)
        return status_failed(arena, "launch.npy", "%s has .npy version %d.%d; versions 1.0, 2.0 and 3.0 can be read", path, major, minor);
    int width = major == 1 ? 2 : 4;
    *begin = *end = MAGIC_BYTES + (size_t)width;
    if (length < *begin) return cut;
    size_t head = 0;
    for (int i = 0; i < width; i++) head |= (size_t)bytes[MAGIC_BYTES + i] << 8 * i;
    if (head > LONGEST_HEAD)
        return status_failed(arena, "launch.npy", "%s is not a well-formed .npy file: its head would have %zu bytes", path, head);
    *end = *begin + head;
    return length < *end ? cut : STATUS_OK;
}

struct status npy_parse_header(struct arena *arena, const char *path, const unsigned char *bytes, size_t length,
                               struct npy_header *header, size_t *needed)
{
    size_t begin, end;
    *header = (struct npy_header){0};
    struct status status = locate_dict(arena, path, bytes, length, &begin, &end);
    if (needed) *needed = end;
    if (!status.ok) return status;
    struct head_reader reader = {.arena = arena, .path = path, .header = header,
                                 .at = (const char *)bytes + begin, .end = (const char *)bytes + end};
    status = read_dict(&reader);
    if (!status.ok) return status;
    int64_t count;
    if (!tensor_count(header->type, header->rank, header->shape, &count))
        return bad_head(&reader, "its size in bytes does not fit 64 bits");
    header->data_offset = end;
    header->data_bytes = (size_t)count * (size_t)ir_type_bytes(header->type);
    return STATUS_OK;
}

static struct status check_size(struct arena *arena, const char *path, const struct npy_header *header, uint64_t length)
{
    uint64_t data = length - header->data_offset;
    if (data == header->data_bytes) return STATUS_OK;
    struct ir_tensor view = {.type = header->type, .rank = header->rank};
    memcpy(view.shape, header->shape, sizeof view.shape);
    struct text shape = {0};
    tensor_print_shape(&shape, &view);
    struct status status = status_failed(arena, "launch.npy", "%s %s: %s takes %zu bytes of data, the file has %llu", path,
                                         data < header->data_bytes ? "is cut short" : "is too long", shape.data,
                                         header->data_bytes, (unsigned long long)data);
    text_free(&shape);
    return status;
}

// Moves element by element from first-index-fastest order. `next` is a counter over the row-major positions.
static void copy_transposed(const struct npy_header *header, const unsigned char *from, unsigned char *to)
{
    size_t size = (size_t)ir_type_bytes(header->type), count = header->data_bytes / size;
    int64_t position[IR_MAX_RANK] = {0};
    for (size_t i = 0; i < count; i++) {
        int64_t place = 0;
        for (int d = header->rank; d-- > 0;) place = place * header->shape[d] + position[d];
        memcpy(to + i * size, from + (size_t)place * size, size);
        for (int d = header->rank; d-- > 0 && ++position[d] == header->shape[d];) position[d] = 0;
    }
}

// Any non-zero byte of a bool is true: what was read must not hold a third value.
static void normalize_bools(struct tensor *tensor)
{
    if (tensor->view.type != TYPE_BOOL) return;
    unsigned char *data = tensor->view.data;
    for (size_t i = 0; i < tensor->bytes; i++) data[i] = data[i] != 0;
}

static bool needs_transposing(const struct npy_header *header)
{
    return header->fortran && header->rank > 1 && header->data_bytes > 0;
}

struct status npy_parse(struct arena *arena, const char *path, const unsigned char *bytes, size_t length,
                        struct tensor *tensor)
{
    struct npy_header header;
    *tensor = (struct tensor){0};
    struct status status = npy_parse_header(arena, path, bytes, length, &header, NULL);
    if (status.ok) status = check_size(arena, path, &header, length);
    if (status.ok) status = tensor_new(arena, path, header.type, header.rank, header.shape, tensor);
    if (!status.ok) return status;
    if (needs_transposing(&header))
        copy_transposed(&header, bytes + header.data_offset, tensor->view.data);
    else
        memcpy(tensor->view.data, bytes + header.data_offset, header.data_bytes);
    normalize_bools(tensor);
    return STATUS_OK;
}

// ---------------------------------------------------------------------------------------------- reading a file

static struct status cannot(struct arena *arena, const char *what, const char *path, int error)
{
    bool missing = error == ENOENT || error == ENOTDIR || error == EACCES;  // the caller named another than the one that was meant
    const char *code = strcmp(what, "read") != 0 ? "write.npy" : missing ? "usage.file" : "file.read";
    return status_failed(arena, code, "can't %s %s: %s", what, path, strerror(error));
}

// Reads exactly `length` bytes unless the file ends before; returns how many, or -1 with errno.
static ssize_t read_fully(int file, void *buffer, size_t length)
{
    size_t done = 0;
    while (done < length) {
        size_t piece = length - done < (1u << 30) ? length - done : 1u << 30;
        ssize_t got = read(file, (char *)buffer + done, piece);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (got == 0) break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

static struct status read_header(struct arena *arena, const char *path, int file, struct npy_header *header)
{
    size_t have = MAGIC_BYTES + 4, needed;
    unsigned char *bytes = arena_alloc(arena, have);
    ssize_t got = read_fully(file, bytes, have);
    if (got < 0) return cannot(arena, "read", path, errno);
    struct status status = npy_parse_header(arena, path, bytes, (size_t)got, header, &needed);
    if (status.ok || (size_t)got < have || needed <= have) return status;
    unsigned char *head = arena_alloc(arena, needed);
    memcpy(head, bytes, have);
    got = read_fully(file, head + have, needed - have);
    if (got < 0) return cannot(arena, "read", path, errno);
    return npy_parse_header(arena, path, head, have + (size_t)got, header, NULL);
}

static struct status read_data(struct arena *arena, const char *path, int file, const struct npy_header *header,
                               struct tensor *tensor)
{
    struct tensor raw = {0};
    bool transpose = needs_transposing(header);
    struct status status = tensor_new(arena, path, header->type, header->rank, header->shape, tensor);
    if (status.ok && transpose) status = tensor_new(arena, path, header->type, header->rank, header->shape, &raw);
    if (!status.ok) return status;
    struct tensor *into = transpose ? &raw : tensor;
    ssize_t got = lseek(file, (off_t)header->data_offset, SEEK_SET) < 0 ? -1 : read_fully(file, into->view.data, into->bytes);
    if (got < 0)
        status = cannot(arena, "read", path, errno);
    else if ((size_t)got < into->bytes)  // it shrank while it was read
        status = check_size(arena, path, header, header->data_offset + (size_t)got);
    else if (transpose)
        copy_transposed(header, raw.view.data, tensor->view.data);
    normalize_bools(tensor);
    tensor_free(&raw);
    return status;
}

static struct status read_head(struct arena *arena, const char *path, int file, struct npy_header *header)
{
    struct stat info;
    if (fstat(file, &info) < 0) return cannot(arena, "read", path, errno);
    if (!S_ISREG(info.st_mode)) return status_failed(arena, "file.read", "can't read %s: it is not a regular file", path);
    struct status status = read_header(arena, path, file, header);
    return status.ok ? check_size(arena, path, header, (uint64_t)info.st_size) : status;
}

struct status npy_read_head(struct arena *arena, const char *path, struct npy_header *header)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return cannot(arena, "read", path, errno);
    struct status status = read_head(arena, path, file, header);
    close(file);
    return status;
}

struct status npy_read(struct arena *arena, const char *path, struct tensor *tensor)
{
    *tensor = (struct tensor){0};
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return cannot(arena, "read", path, errno);
    struct npy_header header;
    struct status status = read_head(arena, path, file, &header);
    if (status.ok) status = read_data(arena, path, file, &header, tensor);
    close(file);
    if (!status.ok) tensor_free(tensor);
    return status;
}

// ---------------------------------------------------------------------------------------------- writing a file

static const char *descr_of(enum ir_type type)
{
    if (type == TYPE_BF16) type = TYPE_F32;
    for (size_t i = 0; i < sizeof npy_types / sizeof *npy_types; i++) {
        if (npy_types[i].type == type) return npy_types[i].descr;
    }
    return "";
}

// The whole head, padded so that the data begins at a multiple of 64 bytes.
static void print_head(struct text *out, const struct ir_tensor *view)
{
    struct text dict = {0};
    text_printf(&dict, "{'descr': '%s%s', 'fortran_order': False, 'shape': (", ir_type_bytes(view->type) > 1 ? "<" : "|",
                descr_of(view->type));
    for (int i = 0; i < view->rank; i++)
        text_printf(&dict, "%s%lld%s", i ? ", " : "", (long long)view->shape[i], view->rank == 1 ? "," : "");
    text_add(&dict, "), }");
    while ((MAGIC_BYTES + 2 + dict.length + 1) % 64 != 0) text_add(&dict, " ");
    text_add(&dict, "\n");
    unsigned char lead[MAGIC_BYTES + 2] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0, (unsigned char)(dict.length & 255),
                                           (unsigned char)(dict.length >> 8)};
    text_add_bytes(out, (const char *)lead, sizeof lead);
    text_add_bytes(out, dict.data, dict.length);
    text_free(&dict);
}

static bool write_data(FILE *file, const struct ir_tensor *view)
{
    int64_t count = tensor_elements(view);
    if (count == 0) return true;
    if (view->type != TYPE_BF16)
        return fwrite(view->data, (size_t)ir_type_bytes(view->type), (size_t)count, file) == (size_t)count;
    for (int64_t i = 0; i < count; i++) {
        float value = ir_bf16_to_f32(((const uint16_t *)view->data)[i]);
        if (fwrite(&value, sizeof value, 1, file) != 1) return false;
    }
    return true;
}

static bool write_all(FILE *file, const struct ir_tensor *view)
{
    struct text head = {0};
    print_head(&head, view);
    bool ok = fwrite(head.data, 1, head.length, file) == head.length && write_data(file, view) && fflush(file) == 0;
    text_free(&head);
    return ok;
}

struct status npy_write(struct arena *arena, const char *path, const struct ir_tensor *view)
{
    struct stat info;
    bool special = stat(path, &info) == 0 && !S_ISREG(info.st_mode);  // /dev/stdout: nothing to rename
    const char *name = special ? path : arena_printf(arena, "%s.%ld.tmp", path, (long)getpid());
    if (!special) unlink(name);  // left by a run that was killed
    FILE *file = fopen(name, special ? "wbe" : "wbxe");
    if (!file) return cannot(arena, "write", path, errno);
    errno = 0;
    bool ok = write_all(file, view) && (special || fsync(fileno(file)) == 0);
    int error = errno;
    if (fclose(file) != 0 && ok) {
        ok = false;
        error = errno;
    }
    if (ok && !special && rename(name, path) != 0) {
        ok = false;
        error = errno;
    }
    if (ok) return STATUS_OK;
    if (!special) unlink(name);
    return cannot(arena, "write", path, error ? error : EIO);
}
