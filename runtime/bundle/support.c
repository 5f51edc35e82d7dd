// SPDX-License-Identifier: Apache-2.0
// This file goes into every bundle, below this head: what is emitted is its user's.
// ------------------------------------------------------------------------------------------------ the driver

// libcuda is opened when it is first needed, so a program that is linked with this starts where there is none.

typedef struct CUctx_st *bundle_context;
typedef struct CUmod_st *bundle_module;
typedef struct CUfunc_st *bundle_function;

static struct {
    int (*init)(unsigned flags);
    int (*device_get)(int *device, int ordinal);
    int (*device_attribute)(int *value, int attribute, int device);
    int (*context_current)(bundle_context *context);
    int (*context_device)(int *device);
    int (*context_retain)(bundle_context *context, int device);
    int (*context_push)(bundle_context context);
    int (*context_pop)(bundle_context *context);
    int (*module_load)(bundle_module *module, const void *image);
    int (*module_unload)(bundle_module module);
    int (*module_function)(bundle_function *function, bundle_module module, const char *name);
    int (*function_set)(bundle_function function, int attribute, int value);
    int (*launch)(bundle_function function, unsigned x, unsigned y, unsigned z, unsigned tx, unsigned ty, unsigned tz,
                  unsigned shared, void *stream, void **arguments, void **extra);
} bundle_driver;

static pthread_mutex_t bundle_lock = PTHREAD_MUTEX_INITIALIZER;
static int bundle_opened;        // under the lock: whether the driver was looked for
static int bundle_open_status;   // and what came of that

static int bundle_symbol(void *library, const char *name, void *function, size_t size)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, size);
    return symbol != NULL;
}

#define BUNDLE_SYMBOL(name, member) bundle_symbol(library, name, &bundle_driver.member, sizeof bundle_driver.member)

static int bundle_open_driver(void)
{
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) library = dlopen("libcuda.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) return BUNDLE_NO_DRIVER;
    int all = BUNDLE_SYMBOL("cuInit", init) && BUNDLE_SYMBOL("cuDeviceGet", device_get) &&
              BUNDLE_SYMBOL("cuDeviceGetAttribute", device_attribute) && BUNDLE_SYMBOL("cuCtxGetCurrent", context_current) &&
              BUNDLE_SYMBOL("cuCtxGetDevice", context_device) && BUNDLE_SYMBOL("cuDevicePrimaryCtxRetain", context_retain) &&
              BUNDLE_SYMBOL("cuCtxPushCurrent_v2", context_push) && BUNDLE_SYMBOL("cuCtxPopCurrent_v2", context_pop) &&
              BUNDLE_SYMBOL("cuModuleLoadData", module_load) && BUNDLE_SYMBOL("cuModuleUnload", module_unload) &&
              BUNDLE_SYMBOL("cuModuleGetFunction", module_function) && BUNDLE_SYMBOL("cuFuncSetAttribute", function_set) &&
              BUNDLE_SYMBOL("cuLaunchKernel", launch);
    return all ? bundle_driver.init(0) : BUNDLE_NO_DRIVER;
}

// ------------------------------------------------------------------------------------------------ code per context

struct bundle_kernel {
    const char *name;
    int dynamic_shared;  // bytes; static shared memory is not counted
    int opt_in;          // more than 48 KiB in all: has to be asked for
};
struct bundle_binary {
    const unsigned char *image;
    const struct bundle_kernel *kernels;
    int kernel_count;
};

static const struct bundle_binary bundle_binaries[BUNDLE_BINARIES];  // below

// What has been loaded into one context. The list only grows, at its head, so it is read without the lock.
struct bundle_loaded {
    bundle_context context;
    int architecture;    // an index into bundle_architectures
    struct bundle_loaded *next;
    bundle_function functions[BUNDLE_BINARIES][BUNDLE_KERNELS];
    int ready[BUNDLE_BINARIES];
};
static struct bundle_loaded *bundle_list;

// The best of the bundle's architectures for a device: its own specific code, then the newest of its generation that
// isn't newer than it, then what the driver can compile. -1: none.
static int bundle_architecture(int sm)
{
    int best = -1, best_rank = -1;
    for (int i = 0; i < BUNDLE_ARCHITECTURES; i++) {
        const struct bundle_architecture *entry = &bundle_architectures[i];
        int fits = entry->specific ? entry->sm == sm : entry->ptx ? entry->sm <= sm : entry->sm <= sm && entry->sm / 10 == sm / 10;
        int rank = entry->specific ? 20000 : entry->ptx ? entry->sm : 10000 + entry->sm;
        if (fits && rank > best_rank) best = i, best_rank = rank;
    }
    return best;
}

static int bundle_add_context(bundle_context context, struct bundle_loaded **loaded)
{
    int device = 0, major = 0, minor = 0;
    int status = bundle_driver.context_device(&device);
    if (!status) status = bundle_driver.device_attribute(&major, 75, device);
    if (!status) status = bundle_driver.device_attribute(&minor, 76, device);
    if (status) return status;
    int architecture = bundle_architecture(10 * major + minor);
    if (architecture < 0) return BUNDLE_NO_CODE;
    struct bundle_loaded *made = calloc(1, sizeof *made);
    if (!made) return BUNDLE_NO_MEMORY;
    made->context = context;
    made->architecture = architecture;
    made->next = bundle_list;
    __atomic_store_n(&bundle_list, made, __ATOMIC_RELEASE);
    *loaded = made;
    return 0;
}

static struct bundle_loaded *bundle_find(bundle_context context)
{
    struct bundle_loaded *loaded = __atomic_load_n(&bundle_list, __ATOMIC_ACQUIRE);
    while (loaded && loaded->context != context) loaded = loaded->next;
    return loaded;
}

static bundle_context bundle_primary;  // of device 0, retained once, for good

static int bundle_enter_primary(bundle_context *context, int *pushed)
{
    int status = 0, device = 0;
    pthread_mutex_lock(&bundle_lock);
    if (!bundle_primary) {
        status = bundle_driver.device_get(&device, 0);
        if (!status) status = bundle_driver.context_retain(&bundle_primary, device);
        if (status) bundle_primary = NULL;
    }
    *context = bundle_primary;
    pthread_mutex_unlock(&bundle_lock);
    if (!status) status = bundle_driver.context_push(*context);
    *pushed = !status;
    return status;
}

// What is loaded in the caller's current context, or with none in the primary one of device 0, which then is current
// until bundle_leave.
static int bundle_enter(struct bundle_loaded **loaded, int *pushed)
{
    bundle_context context = NULL;
    int status = 0;
    *pushed = 0;
    if (!__atomic_load_n(&bundle_list, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&bundle_lock);
        if (!bundle_opened) bundle_open_status = bundle_open_driver();
        bundle_opened = 1;
        status = bundle_open_status;
        pthread_mutex_unlock(&bundle_lock);
        if (status) return status;
    }
    status = bundle_driver.context_current(&context);
    if (!status && !context) status = bundle_enter_primary(&context, pushed);
    if (status) return status;
    *loaded = bundle_find(context);
    if (*loaded) return 0;
    pthread_mutex_lock(&bundle_lock);
    *loaded = bundle_find(context);
    if (!*loaded) status = bundle_add_context(context, loaded);
    pthread_mutex_unlock(&bundle_lock);
    return status;
}

static void bundle_leave(int pushed)
{
    bundle_context popped;
    if (pushed) bundle_driver.context_pop(&popped);
}

// With the lock.
static int bundle_load(struct bundle_loaded *loaded, int binary)
{
    const struct bundle_binary *wanted = &bundle_binaries[binary];
    bundle_module module = NULL;
    int status = bundle_driver.module_load(&module, wanted->image);
    if (status) return status;
    for (int i = 0; i < wanted->kernel_count && !status; i++) {
        const struct bundle_kernel *kernel = &wanted->kernels[i];
        status = bundle_driver.module_function(&loaded->functions[binary][i], module, kernel->name);
        if (!status && kernel->opt_in) status = bundle_driver.function_set(loaded->functions[binary][i], 8, kernel->dynamic_shared);
    }
    if (status) bundle_driver.module_unload(module);
    return status;
}

static int bundle_functions(struct bundle_loaded *loaded, int binary, const bundle_function **functions)
{
    int status = 0;
    *functions = loaded->functions[binary];
    if (__atomic_load_n(&loaded->ready[binary], __ATOMIC_ACQUIRE)) return 0;
    pthread_mutex_lock(&bundle_lock);
    if (!loaded->ready[binary]) {
        status = bundle_load(loaded, binary);
        if (!status) __atomic_store_n(&loaded->ready[binary], 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&bundle_lock);
    return status;
}

// ------------------------------------------------------------------------------------------------ numbers

// Products and sums of sizes stay at the largest number instead of running over.
static inline int64_t bundle_times(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static inline int64_t bundle_tiles(int64_t lo, int64_t hi, int64_t block)
{
    return hi > lo ? (hi - lo - 1) / block + 1 : 0;
}

// Behind `bytes` of a workspace and `more`, at a multiple of 256.
static inline int64_t bundle_after(int64_t bytes, int64_t more)
{
    int64_t sum;
    if (more < 0) more = 0;
    return __builtin_add_overflow(bytes, more, &sum) || sum > INT64_MAX - 255 ? INT64_MAX : (sum + 255) / 256 * 256;
}

// The bits of an f16 or bf16 as the number they are.
static inline float bundle_bfloat(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static inline float bundle_half(uint16_t bits)
{
    uint32_t exponent = bits >> 10 & 31, fraction = bits & 1023, wide = (uint32_t)(bits & 0x8000) << 16;
    if (exponent == 0) {
        float small = (float)fraction / 16777216.0f;
        return wide ? -small : small;
    }
    wide |= exponent == 31 ? 0x7f800000u | fraction << 13 : (exponent + 112) << 23 | fraction << 13;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static inline double bundle_over(int64_t a, int64_t b)
{
    return b ? (double)a / (double)b : 0.0;
}

// The tile language's integers: they wrap, and a division by 0 gives 0.
static inline int64_t bundle_plus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t bundle_minus(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t bundle_product(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t bundle_quotient(int64_t a, int64_t b)
{
    return b == 0 ? 0 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static inline int64_t bundle_rest(int64_t a, int64_t b)
{
    return b == 0 || b == -1 ? 0 : a % b;
}

static inline int64_t bundle_quotient_up(int64_t a, int64_t b)
{
    return bundle_quotient(a, b) + (bundle_rest(a, b) != 0 && (a < 0) == (b < 0));
}

static inline int64_t bundle_least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t bundle_greatest(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int bundle_launch(bundle_function function, int64_t blocks, int threads, int shared, void *stream, void **arguments)
{
    if (blocks <= 0) return 0;
    if (blocks > 0x7fffffff) return BUNDLE_TOO_LARGE;
    return bundle_driver.launch(function, (unsigned)blocks, 1, 1, (unsigned)threads, 1, 1, (unsigned)shared, stream, arguments, NULL);
}
