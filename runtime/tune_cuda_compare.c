// SPDX-License-Identifier: Apache-2.0
// In: an output on the device, its reference on the host. Out: whether they agree. The same rules as compare.c's, in CUDA
// C; what it calls wrong the host looks at again, whose word and words count.
#include <string.h>

#include "runtime/runtime.h"
#include "runtime/tune_cuda.h"

enum { THREADS = 256, BLOCKS = 4096 };

static const char text[] =
    "// Elements of `value` that don't agree with `reference`, counted. Poison is told by its bits.\n"
    "struct rules { double relative, absolute, factor; const double *errors; unsigned long long poison; long long count; int sampled, rounded; };\n"
    "static __device__ double number_f64(unsigned long long bits) { return __longlong_as_double((long long)bits); }\n"
    "static __device__ double number_f32(unsigned bits) { return __uint_as_float(bits); }\n"
    "static __device__ double number_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }\n"
    "static __device__ double number_f16(unsigned short bits)\n"
    "{\n"
    "    float number;\n"
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(number) : \"h\"(bits));\n"
    "    return number;\n"
    "}\n"
    "static __device__ bool differs(double value, double reference, rules rule, long long i)\n"
    "{\n"
    "    if (value != value || reference != reference) return value == value || reference == reference;\n"
    "    if (value == reference) return false;\n"
    "    double size = fabs(reference);\n"
    "    if (size > 1.7976931348623157e308) return true;\n"
    "    return !(fabs(value - reference) <= rule.relative * size + rule.absolute + (rule.errors ? rule.factor * rule.errors[i] : 0.0));\n"
    "}\n"
    "static __device__ bool differs(long long value, long long reference, rules rule, long long i)\n"
    "{\n"
    "    unsigned long long distance = value > reference ? (unsigned long long)value - (unsigned long long)reference\n"
    "                                                    : (unsigned long long)reference - (unsigned long long)value;\n"
    "    return rule.errors ? (double)distance > rule.errors[i] : distance > (unsigned long long)rule.rounded;\n"
    "}\n"
    "#define COMPARE(name, bits, number)                                                                          \\\n"
    "    extern \"C\" __global__ void name(const bits *value, const bits *reference, rules rule, unsigned *wrong)  \\\n"
    "    {                                                                                                        \\\n"
    "        unsigned found = 0;                                                                                  \\\n"
    "        for (long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x; i < rule.count;                 \\\n"
    "             i += (long long)gridDim.x * blockDim.x) {                                                       \\\n"
    "            bits a = value[i], b = reference[i], poison = (bits)rule.poison;                                 \\\n"
    "            if (b == poison) found += a != poison && !rule.sampled;                                          \\\n"
    "            else if (a == poison) found++;                                                                   \\\n"
    "            else found += differs(number(a), number(b), rule, i);                                            \\\n"
    "        }                                                                                                    \\\n"
    "        if (found) atomicAdd(wrong, found);                                                                  \\\n"
    "    }\n"
    "COMPARE(compare_f64, unsigned long long, number_f64)\n"
    "COMPARE(compare_f32, unsigned, number_f32)\n"
    "COMPARE(compare_f16, unsigned short, number_f16)\n"
    "COMPARE(compare_bf16, unsigned short, number_bf16)\n"
    "COMPARE(compare_i64, unsigned long long, (long long))\n"
    "COMPARE(compare_i32, unsigned, (long long)(int))\n"
    "COMPARE(compare_i8, unsigned char, (long long)(signed char))\n"
    "COMPARE(compare_u8, unsigned char, (long long))\n";

struct rules {
    double relative, absolute, factor;
    cuda_address errors;
    unsigned long long poison;
    long long count;
    int sampled, rounded;
};

static bool load(struct arena *arena, struct cuda_device *device, const struct tune_work *work, struct cuda_comparer *comparer)
{
    if (comparer->module) return true;
    comparer->references = ARENA_ARRAY(arena, struct cuda_buffer, work->kernel->param_count + 1);
    comparer->errors = ARENA_ARRAY(arena, struct cuda_buffer, work->kernel->param_count + 1);
    return cuda_module_of(arena, device, text, "compare.cu", &comparer->module).ok &&
           cuda_buffer_new(arena, device, "comparing", sizeof(unsigned), &comparer->wrong).ok;
}

void cuda_comparer_begin(struct arena *arena, struct cuda_device *device, const struct tune_work *work, struct cuda_comparer *comparer)
{
    comparer->broken = comparer->broken || !load(arena, device, work, comparer);
}

// What isn't there stays so: its address is 0.
static bool upload(struct arena *arena, struct cuda_device *device, const void *data, size_t bytes, struct cuda_buffer *buffer)
{
    if (buffer->block || !data) return true;
    return cuda_buffer_new(arena, device, "the reference", bytes, buffer).ok &&
           device->cuda->copy_in(buffer->address, data, bytes) == CUDA_OK;
}

static const char *kernel_name(enum ir_type type)
{
    switch (type) {
    case TYPE_F64: return "compare_f64";
    case TYPE_F32: return "compare_f32";
    case TYPE_F16: return "compare_f16";
    case TYPE_BF16: return "compare_bf16";
    case TYPE_I64: return "compare_i64";
    case TYPE_I32: return "compare_i32";
    case TYPE_I8: return "compare_i8";
    default: return "compare_u8";
    }
}

static struct rules rules_of(const struct tune_tensor *tensor)
{
    struct rules rules = {.relative = tensor->options.relative, .absolute = tensor->options.absolute,
                          .factor = tensor->options.factor, .count = tensor_elements(&tensor->view),
                          .sampled = tensor->options.sampled, .rounded = tensor->options.rounded};
    struct tensor one = {.view = {.type = tensor->view.type, .data = &rules.poison}, .bytes = (size_t)ir_type_bytes(tensor->view.type)};
    tensor_poison(&one);
    return rules;
}

static bool count_wrong(struct cuda_device *device, struct cuda_comparer *comparer, const struct tune_tensor *tensor, int param,
                        const struct ir_tensor *value, unsigned *wrong)
{
    struct cuda *cuda = device->cuda;
    cuda_function_handle function = NULL;
    struct rules rules = rules_of(tensor);
    rules.errors = comparer->errors[param].address;
    cuda_address a = (cuda_address)(uintptr_t)value->data, b = comparer->references[param].address, count = comparer->wrong.address;
    void *arguments[] = {&a, &b, &rules, &count};
    return cuda->module_function(&function, comparer->module, kernel_name(value->type)) == CUDA_OK &&
           cuda->fill(comparer->wrong.address, 0, sizeof *wrong, device->stream) == CUDA_OK &&
           cuda->launch(function, BLOCKS, 1, 1, THREADS, 1, 1, 0, device->stream, arguments, NULL) == CUDA_OK &&
           cuda->stream_wait(device->stream) == CUDA_OK && cuda->copy_out(wrong, comparer->wrong.address, sizeof *wrong) == CUDA_OK;
}

bool cuda_compare(struct arena *arena, struct cuda_device *device, const struct tune_work *work, struct cuda_comparer *comparer, int param,
                  const struct ir_tensor *value)
{
    const struct tune_tensor *tensor = &work->tensors[param];
    unsigned wrong = 1;
    if (comparer->broken || !tensor->options.bounded || tensor->bytes == 0) return false;
    size_t error_bytes = (size_t)tensor_elements(&tensor->view) * sizeof(double);
    comparer->broken = !load(arena, device, work, comparer) ||
                       !upload(arena, device, tensor->reference.data, tensor->bytes, &comparer->references[param]) ||
                       !upload(arena, device, tensor->options.errors, error_bytes, &comparer->errors[param]) ||
                       !count_wrong(device, comparer, tensor, param, value, &wrong);
    return !comparer->broken && wrong == 0;
}
