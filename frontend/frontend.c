// SPDX-License-Identifier: Apache-2.0
// In: the source of one file. Out: its tree with the trees of everything it imports, and what it offers to a caller.
// A file is parsed once however often and on whatever path it is imported; the chain from the first file to the present
// one shows cycles.
#include "frontend/frontend.h"

#include <string.h>

#include "frontend/ast.h"

// ---------------------------------------------------------------------------------------------- imports

enum { IMPORT_DEPTH = 64, IMPORT_FILES = 1000 };

struct place {  // of a file: two are the same if their identities are, or, where one isn't known, their paths
    const char *identity;
    const char *path;  // without `.`, `x/..` and repeated slashes
};

struct link {  // a file on the way from the first one to the present one
    const struct source *source;
    struct place place;
    struct span import;  // where the next file of the chain is imported
    struct link *importer;
    int depth;
};

struct loading {
    struct arena *arena;
    const struct frontend_loader *loader;
    struct diagnostics *diagnostics;
    struct parsed {
        struct ast_file *file;
        struct place place;
    } *files;  // every file that was parsed
    int count, capacity;
};

static void load_imports(struct loading *loading, struct ast_file *file, struct place place, struct link *importer);

// Takes the last name off, unless that is `..` or there is none: its new length.
static size_t without_last_name(const char *path, size_t length)
{
    size_t begin = length;
    while (begin && path[begin - 1] != '/') begin--;
    bool kept = begin == length || (length - begin == 2 && !strncmp(path + begin, "..", 2));
    return kept ? length : begin > 1 ? begin - 1 : begin;
}

// The shortest way to say the path, as far as its text tells.
static const char *plain_path(struct arena *arena, const char *path)
{
    size_t length = 0, size = strlen(path) + 1;
    char *plain = ARENA_ARRAY(arena, char, size);
    if (*path == '/') plain[length++] = '/';
    while (*path) {
        size_t name = strcspn(path, "/");
        bool up = name == 2 && !strncmp(path, "..", 2);
        size_t shorter = up ? without_last_name(plain, length) : length;
        if (shorter < length || (up && length == 1 && *plain == '/')) {
            length = shorter;
        } else if (name && !(name == 1 && *path == '.')) {
            if (length && plain[length - 1] != '/') plain[length++] = '/';
            memcpy(plain + length, path, name);
            length += name;
        }
        path += name;
        path += strspn(path, "/");
    }
    plain[length] = 0;
    return plain;
}

static struct place place_of(struct arena *arena, const struct source *source)
{
    return (struct place){.identity = source->identity, .path = plain_path(arena, source->path)};
}

static bool same_place(struct place a, struct place b)
{
    return a.identity && b.identity ? !strcmp(a.identity, b.identity) : !strcmp(a.path, b.path);
}

static struct ast_file *parsed_before(const struct loading *loading, struct place place)
{
    for (int i = 0; i < loading->count; i++)
        if (same_place(loading->files[i].place, place)) return loading->files[i].file;
    return NULL;
}

static struct ast_file *parse_once(struct loading *loading, const struct source *source, struct place place)
{
    struct parsed parsed = {.file = ast_parse(loading->arena, source, loading->diagnostics), .place = place};
    ARENA_PUSH(loading->arena, loading->files, loading->count, loading->capacity, parsed);
    return parsed.file;
}

// Reports an import that leads back to a file that is being imported.
static bool closes_cycle(struct loading *loading, const struct ast_item *item, const struct source *source,
                         struct place place, struct link *chain)
{
    for (struct link *link = chain; link; link = link->importer) {
        if (!same_place(link->place, place)) continue;
        const char *message = link == chain ? "%s imports itself" : "%s is imported again by a file that it imports";
        struct diagnostic *error =
            diagnose(loading->diagnostics, SEVERITY_ERROR, "E0117", item->name.span, message, source->path);
        error->help = "move what both need to a file of its own";
        if (link == chain) return true;
        error->note_span = link->import;
        error->note = "the cycle begins here";
        return true;
    }
    return false;
}

static const struct source *read_import(struct loading *loading, const struct ast_item *item, const struct source *from)
{
    const char *reason = NULL, *path = item->name.text;
    const struct source *source = NULL;
    if (!*path) reason = "the path is empty";
    else if (!loading->loader || !loading->loader->load) reason = "files can't be imported here";
    else source = loading->loader->load(loading->loader->data, loading->arena, from->path, path, &reason);
    if (source && source->path) return source;
    diagnose(loading->diagnostics, SEVERITY_ERROR, "E0116", item->name.span, "can't import \"%s\"%s%s", path,
             reason ? ": " : "", reason ? reason : "");
    return NULL;
}

static void load_import(struct loading *loading, struct ast_item *item, struct link *present)
{
    const struct source *source = read_import(loading, item, present->source);
    if (!source) return;
    struct place place = place_of(loading->arena, source);
    if (closes_cycle(loading, item, source, place, present)) return;
    item->import = parsed_before(loading, place);
    if (item->import) return;
    if (present->depth == IMPORT_DEPTH || loading->count > IMPORT_FILES) {
        diagnose(loading->diagnostics, SEVERITY_ERROR, "E0107", item->name.span,
                 "imports are more than %d files deep, or more than %d files", IMPORT_DEPTH, IMPORT_FILES);
        return;
    }
    present->import = item->name.span;
    item->import = parse_once(loading, source, place);
    load_imports(loading, item->import, place, present);
}

static void load_imports(struct loading *loading, struct ast_file *file, struct place place, struct link *importer)
{
    struct link present = {
        .source = file->source, .place = place, .importer = importer, .depth = importer ? importer->depth + 1 : 0};
    for (int i = 0; i < file->count; i++)
        if (file->items[i].kind == ITEM_IMPORT) load_import(loading, &file->items[i], &present);
}

struct ast_file *frontend_parse(struct arena *arena, const struct source *source, const struct frontend_loader *loader,
                                struct diagnostics *diagnostics)
{
    struct loading loading = {.arena = arena, .loader = loader, .diagnostics = diagnostics};
    if (!source->path) {
        struct source *named = ARENA_NEW(arena, struct source);
        *named = *source;
        named->path = "<input>";
        source = named;
    }
    struct place place = place_of(arena, source);
    struct ast_file *file = parse_once(&loading, source, place);
    load_imports(&loading, file, place, NULL);
    return file;
}

void frontend_print_tree(struct text *out, const struct ast_file *file)
{
    ast_print(out, file);
}

// ---------------------------------------------------------------------------------------------- kernels

static const struct ast_kernel *kernel_at(const struct ast_file *file, int index)
{
    for (int i = 0; i < file->count; i++)
        if (file->items[i].kind == ITEM_KERNEL && index-- == 0) return file->items[i].kernel;
    return NULL;
}

int frontend_kernel_count(const struct ast_file *file)
{
    int count = 0;
    while (kernel_at(file, count)) count++;
    return count;
}

const char *frontend_kernel_name(const struct ast_file *file, int index)
{
    const struct ast_kernel *kernel = index < 0 ? NULL : kernel_at(file, index);
    return kernel ? kernel->name.text : NULL;
}

static const struct ast_kernel *kernel_named(const struct ast_file *file, const char *name)
{
    const struct ast_kernel *kernel;
    for (int i = 0; (kernel = kernel_at(file, i)); i++)
        if (!strcmp(kernel->name.text, name)) return kernel;
    return NULL;
}

// ---------------------------------------------------------------------------------------------- signatures

static void fill_generic(struct signature_generic *generic, const struct ast_generic *from)
{
    generic->name = from->name.text;
    generic->kind = from->kind.text;
    generic->fallback = !strcmp(from->kind.text, "int") ? TYPE_I64 : TYPE_F32;
    enum ir_type written = from->has_default ? ir_type_named(from->value.text) : TYPE_NONE;
    if (written == TYPE_NONE) return;
    generic->has_default = true;
    generic->fallback = written;
}

// The source between two offsets on one line, without comments.
static const char *text_between(struct arena *arena, struct span span)
{
    struct text out = {0};
    const char *at = span.source->text + span.begin, *end = span.source->text + span.end;
    bool blank = false;
    for (; at < end; at++) {
        if (at + 1 < end && at[0] == '/' && at[1] == '/')
            while (at < end && *at != '\n') at++;
        blank = at == end || strchr(" \t\r\n\v\f", *at);
        if (at < end && !blank) text_add_bytes(&out, at, 1);
        else if (out.length && out.data[out.length - 1] != ' ') text_add(&out, " ");
    }
    const char *copy = arena_copy(arena, out.data ? out.data : "", out.length);
    text_free(&out);
    return copy;
}

static void fill_param(struct arena *arena, const struct signature *signature, struct signature_param *param,
                       const struct ast_param *from)
{
    static const enum signature_kind kinds[] = {[MODE_IN] = SIGNATURE_IN,
                                                [MODE_INOUT] = SIGNATURE_INOUT,
                                                [MODE_OPTIONAL] = SIGNATURE_IN,
                                                [MODE_OUT] = SIGNATURE_OUT};
    const struct ast_tensor *tensor = &from->tensor;
    bool scalar = from->mode == MODE_IN && !tensor->has_shape;
    param->name = from->name.text;
    param->span = from->span;
    param->kind = scalar ? SIGNATURE_SCALAR : kinds[from->mode];
    param->optional = from->mode == MODE_OPTIONAL;
    param->has_default = from->mode == MODE_IN && from->value;
    param->default_text = param->has_default ? text_between(arena, from->value->span) : NULL;
    param->accum = tensor->type.accum;
    param->generic = -1;
    for (int i = 0; i < signature->generic_count; i++)
        if (!strcmp(signature->generics[i].name, tensor->type.name.text)) param->generic = i;
    param->type = param->generic < 0 ? ir_type_named(tensor->type.name.text) : TYPE_NONE;
    param->rank = tensor->shape.count < IR_MAX_RANK ? tensor->shape.count : IR_MAX_RANK;
    for (int i = 0; i < param->rank; i++) param->extent_text[i] = text_between(arena, tensor->shape.items[i]->span);
}

struct dims {
    struct arena *arena;
    const struct ast_kernel *kernel;
    const struct ast_file **files;  // the kernel's and all that it imports, each once
    int file_count, file_capacity;
    const char **names;
    int count, capacity;
};

static void collect_files(struct dims *dims, const struct ast_file *file)
{
    for (int i = 0; i < dims->file_count; i++)
        if (dims->files[i] == file) return;
    ARENA_PUSH(dims->arena, dims->files, dims->file_count, dims->file_capacity, file);
    for (int i = 0; i < file->count; i++)
        if (file->items[i].import) collect_files(dims, file->items[i].import);
}

static bool is_const(const struct dims *dims, const char *name)
{
    for (int i = 0; i < dims->file_count; i++) {
        const struct ast_file *file = dims->files[i];
        for (int k = 0; k < file->count; k++)
            if (file->items[k].kind == ITEM_CONST && !strcmp(file->items[k].name.text, name)) return true;
    }
    return false;
}

static bool is_dim(const struct dims *dims, const char *name)
{
    for (int i = 0; i < dims->count; i++)
        if (!strcmp(dims->names[i], name)) return false;
    for (int i = 0; i < dims->kernel->param_count; i++)
        if (!strcmp(dims->kernel->params[i].name.text, name)) return false;
    return !is_const(dims, name);
}

// Names in the shapes of parameters that are neither scalars nor constants, in the order they occur.
static void find_dims(struct dims *dims, const struct ast_expr *expr)
{
    if (expr->kind == EXPR_NAME && is_dim(dims, expr->name.text))
        ARENA_PUSH(dims->arena, dims->names, dims->count, dims->capacity, expr->name.text);
    for (int i = 0; i < expr->args.count; i++) find_dims(dims, expr->args.items[i]);
}

struct signature *frontend_signature(struct arena *arena, const struct ast_file *file, const char *name)
{
    const struct ast_kernel *kernel = kernel_named(file, name);
    if (!kernel) return NULL;
    struct signature *signature = ARENA_NEW(arena, struct signature);
    signature->name = kernel->name.text;
    signature->generic_count = kernel->generic_count;
    signature->generics = ARENA_ARRAY(arena, struct signature_generic, kernel->generic_count);
    for (int i = 0; i < kernel->generic_count; i++) fill_generic(&signature->generics[i], &kernel->generics[i]);
    signature->param_count = kernel->param_count + kernel->output_count;
    signature->params = ARENA_ARRAY(arena, struct signature_param, signature->param_count);
    struct dims dims = {.arena = arena, .kernel = kernel};
    collect_files(&dims, file);
    for (int i = 0; i < signature->param_count; i++) {
        bool output = i >= kernel->param_count;
        const struct ast_param *param = output ? &kernel->outputs[i - kernel->param_count] : &kernel->params[i];
        fill_param(arena, signature, &signature->params[i], param);
        for (int k = 0; !output && k < param->tensor.shape.count; k++) find_dims(&dims, param->tensor.shape.items[k]);
    }
    signature->dim_count = dims.count;
    signature->dims = dims.names;
    return signature;
}
