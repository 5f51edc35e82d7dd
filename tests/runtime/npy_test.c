// SPDX-License-Identifier: Apache-2.0
// .npy files: every type there and back, bytes that NumPy writes, files cut at every byte, files with any byte changed,
// and the words that each kind of broken file gets.
#include <stdlib.h>
#include <unistd.h>

#include "runtime/data.h"
#include "tap.h"

// ---------------------------------------------------------------------------------------------- helpers

static const char *temporary(struct tap *tap, const char *name)
{
    return arena_printf(tap->arena, "/tmp/tilec-npy-%ld-%s", (long)getpid(), name);
}

struct bytes {
    unsigned char data[65536];
    size_t length;
};

static void save(const char *path, const unsigned char *data, size_t length)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, length, file) != length || fclose(file) != 0) exit(99);
}

static void load(const char *path, struct bytes *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file) exit(99);
    bytes->length = fread(bytes->data, 1, sizeof bytes->data, file);
    fclose(file);
}

// A version 1 file with this dict and this many bytes 1, 2, 3, … of data.
static struct bytes craft(const char *dict, size_t data)
{
    struct bytes bytes = {.data = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0}};
    size_t head = strlen(dict);
    bytes.data[8] = (unsigned char)(head & 255);
    bytes.data[9] = (unsigned char)(head >> 8);
    memcpy(bytes.data + 10, dict, head);
    for (size_t i = 0; i < data; i++) bytes.data[10 + head + i] = (unsigned char)(i + 1);
    bytes.length = 10 + head + data;
    return bytes;
}

static struct status parse(struct tap *tap, const struct bytes *bytes, struct tensor *tensor)
{
    // A copy of exactly its length, so that the address sanitizer sees a read behind the end.
    unsigned char *copy = malloc(bytes->length ? bytes->length : 1);
    memcpy(copy, bytes->data, bytes->length);
    struct status status = npy_parse(tap->arena, "x.npy", copy, bytes->length, tensor);
    free(copy);
    return status;
}

static void check_refused(struct tap *tap, int line, const char *dict, size_t data, const char *reason)
{
    struct tensor tensor;
    struct bytes bytes = craft(dict, data);
    struct status status = parse(tap, &bytes, &tensor);
    if (status.ok) printf("# line %d: accepted\n", line), tap->ok = false;
    else tap_check_text(tap, line, status.reason, reason);
    tensor_free(&tensor);
}
#define REFUSED(dict, data, reason) check_refused(tap, __LINE__, dict, data, reason)

// ---------------------------------------------------------------------------------------------- tests

static void round_trip(struct tap *tap)
{
    static const enum ir_type types[] = {TYPE_BOOL, TYPE_I8, TYPE_U8, TYPE_I32, TYPE_I64, TYPE_F16, TYPE_F32, TYPE_F64};
    const char *path = temporary(tap, "round.npy");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int rank = 0; rank <= 4; rank++) {
            struct tensor tensor, back;
            CHECK(tap, tensor_new(tap->arena, "x", types[t], rank, (int64_t[]){3, 1, 5, 2}, &tensor).ok);
            for (size_t i = 0; i < tensor.bytes; i++)
                ((unsigned char *)tensor.view.data)[i] = types[t] == TYPE_BOOL ? i % 2 : (unsigned char)generator_hash(1, "x", i);
            CHECK(tap, npy_write(tap->arena, path, &tensor.view).ok);
            struct status status = npy_read(tap->arena, path, &back);
            CHECK(tap, status.ok);
            CHECK(tap, back.view.type == types[t] && back.view.rank == rank && back.bytes == tensor.bytes);
            CHECK(tap, memcmp(back.view.shape, tensor.view.shape, sizeof(int64_t) * (size_t)rank) == 0);
            CHECK(tap, memcmp(back.view.data, tensor.view.data, tensor.bytes) == 0);
            tensor_free(&tensor);
            tensor_free(&back);
        }
    }
    unlink(path);
}

static void empty_round_trip(struct tap *tap)
{
    const char *path = temporary(tap, "empty.npy");
    struct tensor tensor, back;
    CHECK(tap, tensor_new(tap->arena, "x", TYPE_F32, 3, (int64_t[]){4, 0, INT64_MAX}, &tensor).ok);
    CHECK(tap, npy_write(tap->arena, path, &tensor.view).ok);
    CHECK(tap, npy_read(tap->arena, path, &back).ok);
    CHECK(tap, back.bytes == 0 && back.view.shape[0] == 4 && back.view.shape[1] == 0 && back.view.shape[2] == INT64_MAX);
    tensor_free(&tensor);
    tensor_free(&back);
    unlink(path);
}

static void bytes_as_numpy_writes_them(struct tap *tap)
{
    // numpy.save of array([[1, 2, 3], [4, 5, 6]], dtype='<i4')
    static const char head[] = "\x93NUMPY\x01\x00\x76\x00{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }";
    const char *path = temporary(tap, "bytes.npy");
    struct tensor tensor;
    static struct bytes bytes;
    CHECK(tap, tensor_new(tap->arena, "x", TYPE_I32, 2, (int64_t[]){2, 3}, &tensor).ok);
    for (int i = 0; i < 6; i++) ((int32_t *)tensor.view.data)[i] = i + 1;
    CHECK(tap, npy_write(tap->arena, path, &tensor.view).ok);
    load(path, &bytes);
    CHECK_NUMBER(tap, bytes.length, 128 + 24);
    CHECK(tap, memcmp(bytes.data, head, sizeof head - 1) == 0);
    for (size_t i = sizeof head - 1; i < 127; i++) CHECK(tap, bytes.data[i] == ' ');
    CHECK(tap, bytes.data[127] == '\n' && bytes.data[128] == 1 && bytes.data[132] == 2);
    tensor_free(&tensor);
    unlink(path);
}

static void one_dimension_has_a_comma(struct tap *tap)
{
    const char *path = temporary(tap, "comma.npy");
    struct tensor tensor;
    static struct bytes bytes;
    CHECK(tap, tensor_new(tap->arena, "x", TYPE_BOOL, 1, (int64_t[]){3}, &tensor).ok);
    CHECK(tap, npy_write(tap->arena, path, &tensor.view).ok);
    load(path, &bytes);
    CHECK(tap, memcmp(bytes.data + 10, "{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", 57) == 0);
    tensor_free(&tensor);
    unlink(path);
}

static void bf16_is_written_as_f4(struct tap *tap)
{
    const char *path = temporary(tap, "bf16.npy");
    struct tensor tensor, back, rounded;
    CHECK(tap, tensor_new(tap->arena, "x", TYPE_BF16, 1, (int64_t[]){3}, &tensor).ok);
    for (int i = 0; i < 3; i++) tensor_set(&tensor.view, i, (struct ir_scalar){.number = 1.0 + i / 128.0});
    CHECK(tap, npy_write(tap->arena, path, &tensor.view).ok);
    CHECK(tap, npy_read(tap->arena, path, &back).ok);
    CHECK(tap, back.view.type == TYPE_F32);
    CHECK_NUMBER(tap, tensor_get(&back.view, 1).number, 1.0078125);
    CHECK(tap, tensor_convert(tap->arena, "x", &back, TYPE_BF16, &rounded).ok);
    CHECK(tap, memcmp(rounded.view.data, tensor.view.data, tensor.bytes) == 0);
    tensor_free(&tensor);
    tensor_free(&back);
    tensor_free(&rounded);
    unlink(path);
}

static void versions_two_and_three(struct tap *tap)
{
    for (unsigned char version = 1; version <= 3; version++) {
        struct bytes old = craft("{'descr': '<i4', 'fortran_order': False, 'shape': (2,)}", 8), bytes = old;
        bytes.data[6] = version;
        if (version > 1) {
            memmove(bytes.data + 12, old.data + 10, old.length - 10);
            bytes.data[10] = bytes.data[11] = 0;
            bytes.length += 2;
        }
        struct tensor tensor;
        CHECK(tap, parse(tap, &bytes, &tensor).ok);
        CHECK_NUMBER(tap, tensor_get(&tensor.view, 1).integer, 0x08070605);
        tensor_free(&tensor);
    }
}

static void liberal_dicts(struct tap *tap)
{
    static const char *const dicts[] = {
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }   \n",
        "{\"shape\":(2,3),\"descr\":\"<i4\",\"fortran_order\":False}",
        " { 'fortran_order' : False , 'shape' : ( 2L , 3L , ) , 'descr' : '<i4' } ",
    };
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++) {
        struct bytes bytes = craft(dicts[i], 24);
        struct tensor tensor;
        CHECK(tap, parse(tap, &bytes, &tensor).ok);
        CHECK(tap, tensor.view.rank == 2 && tensor.view.shape[0] == 2 && tensor.view.shape[1] == 3);
        tensor_free(&tensor);
    }
}

static void fortran_order_is_turned(struct tap *tap)
{
    const char *path = temporary(tap, "fortran.npy");
    struct bytes bytes = craft("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 2)}", 12);
    struct tensor tensor, read;
    CHECK(tap, parse(tap, &bytes, &tensor).ok);
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < 3; j++) {
            for (int k = 0; k < 2; k++) CHECK_NUMBER(tap, tensor_get(&tensor.view, (i * 3 + j) * 2 + k).integer, 1 + i + 2 * j + 6 * k);
        }
    }
    save(path, bytes.data, bytes.length);
    CHECK(tap, npy_read(tap->arena, path, &read).ok);
    CHECK(tap, read.bytes == tensor.bytes && memcmp(read.view.data, tensor.view.data, read.bytes) == 0);
    tensor_free(&tensor);
    tensor_free(&read);
    unlink(path);
}

static void bools_are_two(struct tap *tap)
{
    struct bytes bytes = craft("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", 3);
    struct tensor tensor;
    CHECK(tap, parse(tap, &bytes, &tensor).ok);
    for (int i = 0; i < 3; i++) CHECK(tap, ((unsigned char *)tensor.view.data)[i] == 1);
    tensor_free(&tensor);
}

static void refusals(struct tap *tap)
{
    REFUSED("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}", 8,
            "x.npy holds elements of type '>f4': only little-endian ones can be read ('<f4')");
    REFUSED("{'descr': '=i8', 'fortran_order': False, 'shape': (1,)}", 8,
            "x.npy holds elements of type '=i8': only little-endian ones can be read ('<i8')");
    REFUSED("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}", 8,
            "x.npy holds elements of type '<c8'; those that can be read are b1 i1 u1 i4 i8 f2 f4 f8");
    REFUSED("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", 8,
            "x.npy holds elements of type '|O'; those that can be read are b1 i1 u1 i4 i8 f2 f4 f8");
    REFUSED("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4,
            "x.npy is not a well-formed .npy file: 'descr' is not the name of one type (records are not supported)");
    REFUSED("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}", 4,
            "x.npy is not a well-formed .npy file: 'fortran_order' is neither True nor False");
    REFUSED("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}", 8,
            "x.npy is not a well-formed .npy file: 'shape' is not a tuple of integers");
    REFUSED("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}", 8,
            "x.npy is not a well-formed .npy file: 'shape' is not a tuple of integers from 0 to 2^63 - 1");
    REFUSED("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}", 8,
            "x.npy is not a well-formed .npy file: 'shape' is not a tuple of integers from 0 to 2^63 - 1");
    REFUSED("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}", 4,
            "x.npy has more than 8 dimensions, which no kernel takes");
    REFUSED("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 4,
            "x.npy is not a well-formed .npy file: its size in bytes does not fit 64 bits");
    REFUSED("{'descr': '<f4', 'shape': (1,)}", 4, "x.npy is not a well-formed .npy file: its head lacks the key 'fortran_order'");
    REFUSED("{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}", 4, "x.npy is not a well-formed .npy file: its head has the key 'descr' twice");
    REFUSED("{'name': '<f4'}", 4, "x.npy is not a well-formed .npy file: its head has an unknown key 'name'");
    REFUSED("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", 4,
            "x.npy is not a well-formed .npy file: there is something behind its head's dict");
    REFUSED("[]", 4, "x.npy is not a well-formed .npy file: its head is not a Python dict");
}

static void wrong_sizes(struct tap *tap)
{
    REFUSED("{'descr': '<f4', 'fortran_order': False, 'shape': (10, 3)}", 100,
            "x.npy is cut short: f32[10, 3] takes 120 bytes of data, the file has 100");
    REFUSED("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 9,
            "x.npy is too long: f32[2] takes 8 bytes of data, the file has 9");
    // A claim of many terabytes fails on the size of the file, before any memory is asked for.
    REFUSED("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}", 8,
            "x.npy is cut short: f64[1000000000000] takes 8000000000000 bytes of data, the file has 8");
}

static void no_npy_at_all(struct tap *tap)
{
    struct tensor tensor;
    struct bytes bytes = {.data = "hello"};
    CHECK_TEXT(tap, parse(tap, &bytes, &tensor).reason, "x.npy is empty, not a .npy file");
    bytes.length = 5;
    CHECK_TEXT(tap, parse(tap, &bytes, &tensor).reason, "x.npy is not a .npy file: it doesn't begin with \\x93NUMPY");
    bytes = craft("{}", 0);
    bytes.data[6] = 4;
    CHECK_TEXT(tap, parse(tap, &bytes, &tensor).reason, "x.npy has .npy version 4.0; versions 1.0, 2.0 and 3.0 can be read");
    bytes = craft("{}", 4);
    bytes.data[6] = 2;
    bytes.data[11] = 0x7f;
    CHECK(tap, strstr(parse(tap, &bytes, &tensor).reason, "its head would have "));
    struct status status = npy_read(tap->arena, "/nonexistent/x.npy", &tensor);
    CHECK_TEXT(tap, status.code, "usage.file");
    CHECK_TEXT(tap, status.reason, "can't read /nonexistent/x.npy: No such file or directory");
    CHECK_TEXT(tap, npy_read(tap->arena, "/tmp", &tensor).reason, "can't read /tmp: it is not a regular file");
    CHECK_TEXT(tap, npy_read(tap->arena, "/dev/null", &tensor).reason, "can't read /dev/null: it is not a regular file");
}

static void cannot_write(struct tap *tap)
{
    struct tensor tensor;
    CHECK(tap, tensor_new(tap->arena, "x", TYPE_F32, 1, (int64_t[]){100000}, &tensor).ok);
    struct status status = npy_write(tap->arena, "/nonexistent/x.npy", &tensor.view);
    CHECK_TEXT(tap, status.code, "write.npy");
    CHECK_TEXT(tap, status.reason, "can't write /nonexistent/x.npy: No such file or directory");
    status = npy_write(tap->arena, "/dev/full", &tensor.view);
    CHECK_TEXT(tap, status.reason, "can't write /dev/full: No space left on device");
    CHECK(tap, npy_write(tap->arena, "/dev/null", &tensor.view).ok);
    tensor_free(&tensor);
}

// Both ways in give the same answer for a file's first bytes: not ok unless it is whole.
static void cut_at_every_byte(struct tap *tap)
{
    const char *path = temporary(tap, "cut.npy");
    struct bytes whole = craft("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 2), }\n", 32);
    for (size_t length = 0; length <= whole.length; length++) {
        struct tensor parsed, read;
        struct bytes bytes = whole;
        bytes.length = length;
        save(path, bytes.data, length);
        struct status a = parse(tap, &bytes, &parsed), b = npy_read(tap->arena, path, &read);
        CHECK(tap, a.ok == (length == whole.length) && b.ok == a.ok);
        if (!a.ok) CHECK(tap, length == 0 ? strstr(a.reason, "is empty") != NULL : strstr(a.reason, "is cut short") != NULL);
        tensor_free(&parsed);
        tensor_free(&read);
    }
    unlink(path);
}

// Any byte of the head replaced by any other: an answer in words or a tensor, never a fault.
static void any_byte_changed(struct tap *tap)
{
    struct bytes whole = craft("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n", 24);
    int accepted = 0, refused = 0;
    for (size_t at = 0; at < whole.length - 24; at++) {
        for (int byte = 0; byte < 256; byte++) {
            struct bytes bytes = whole;
            struct tensor tensor;
            bytes.data[at] = (unsigned char)byte;
            struct status status = parse(tap, &bytes, &tensor);
            if (status.ok) CHECK(tap, tensor.bytes == 24);
            else CHECK(tap, status.code && status.reason && *status.reason);
            accepted += status.ok;
            refused += !status.ok;
            tensor_free(&tensor);
        }
    }
    CHECK(tap, accepted > 60 && refused > 10000);
}

static void random_mutations(struct tap *tap)
{
    struct bytes whole = craft("{'descr': '|u1', 'fortran_order': True, 'shape': (4, 6), }\n", 24);
    for (uint64_t trial = 0; trial < 20000; trial++) {
        struct bytes bytes = whole;
        struct tensor tensor;
        for (uint64_t change = 0; change < 1 + trial % 5; change++) {
            uint64_t hash = generator_hash(7, "mutation", trial * 8 + change);
            size_t at = hash % bytes.length, length = bytes.length - at;
            if (hash >> 60 < 4) bytes.data[at] = (unsigned char)(hash >> 32);
            else if (hash >> 60 < 8) memmove(bytes.data + at + 1, bytes.data + at, length), bytes.length++;
            else if (hash >> 60 < 12) memmove(bytes.data + at, bytes.data + at + 1, length - 1), bytes.length--;
            else bytes.data[at] = "0123456789,()'{}: LTF"[hash >> 32 & 15];
        }
        CHECK(tap, parse(tap, &bytes, &tensor).ok == (tensor.block != NULL));
        tensor_free(&tensor);
    }
}

static const struct tap_test tests[] = {
    {"every type and rank there and back", round_trip},
    {"empty tensors there and back", empty_round_trip},
    {"the bytes that NumPy writes", bytes_as_numpy_writes_them},
    {"a shape of one dimension", one_dimension_has_a_comma},
    {"bf16 is written as f4 and rounded back", bf16_is_written_as_f4},
    {"versions 1, 2 and 3", versions_two_and_three},
    {"dicts in any order and spacing", liberal_dicts},
    {"first-index-fastest data", fortran_order_is_turned},
    {"any non-zero bool is true", bools_are_two},
    {"what each malformed head is told", refusals},
    {"too little and too much data", wrong_sizes},
    {"files that are none", no_npy_at_all},
    {"files that can't be written", cannot_write},
    {"cut at every byte", cut_at_every_byte},
    {"every byte of the head changed", any_byte_changed},
    {"random mutations", random_mutations},
};
TAP_MAIN(tests)
