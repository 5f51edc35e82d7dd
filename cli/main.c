// SPDX-License-Identifier: Apache-2.0
// The program `tilec`: a table of contents. Each command is a file of its own and a thin face on runtime/tilec.h.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

#define SPECIALIZATION OPTION_KERNEL, OPTION_TYPE, OPTION_DIM, OPTION_STATIC, OPTION_DYNAMIC, OPTION_WITHOUT
#define LOWERING OPTION_ARCH, OPTION_CONFIG, OPTION_CHECKED, OPTION_INDEX64, OPTION_UNALIGNED
#define CACHE OPTION_CACHE_DIR, OPTION_REMOTE_CACHE, OPTION_HEURISTIC_DIR, OPTION_AUTOTUNE_CACHE, OPTION_FORCE_AUTOTUNE, \
    OPTION_SKIP_CACHE, OPTION_ASSERT_CACHE_HIT
#define ALWAYS OPTION_COLOUR, OPTION_HELP, OPTION_END

const struct command commands[] = {
    {"check", command_check, "FILE…", 1, 1000, NULL, {OPTION_JSON, ALWAYS},
     "check programs and say what is wrong with them",
     "Checks every const, fn and kernel of each file, under every kind of element type. Says nothing if all is well.\n"
     "`tilec explain CODE` says more about a message. A FILE of - is standard input.",
     "tilec check examples/jagged_sum.tile\n"
     "tilec check --json examples/*.tile"},
    {"emit", command_emit, "FILE", 0, 1,  NULL,
     {SPECIALIZATION, OPTION_TARGET, LOWERING, OPTION_IR, OPTION_STOP_AFTER, OPTION_SKIP_PASS, OPTION_EXPLAIN_STRATEGY,
      OPTION_LIST_PASSES, OPTION_LIST_OPS, OPTION_KEEP, OPTION_SOURCE, OPTION_OUTPUT, ALWAYS},
     "write the CUDA C (or C) of a kernel, or the program at a stage on the way",
     "Without --kernel every kernel of the file is written. Element types are f32 and i64 unless --type says otherwise;\n"
     "dimensions without a value stay open until launch; `axis d = D;` needs --dim D=….",
     "tilec emit examples/jagged_sum.tile --kernel jagged_sum\n"
     "tilec emit examples/jagged_softmax.tile --type T=f16 --dim M=128 --config best.json\n"
     "tilec emit examples/jagged_mean.tile --ir=lower_jagged"},
    {"run", command_run, "FILE", 1, 1, NULL,
     {OPTION_KERNEL, OPTION_ARG, OPTION_OUT, OPTION_DIM, OPTION_TYPE, OPTION_STATIC, OPTION_DYNAMIC, OPTION_DEVICE,
      OPTION_CHECK, OPTION_CONFIG, OPTION_SEED, OPTION_SAVE_ARGS, OPTION_HISTOGRAM, OPTION_CHECKED, OPTION_NO_VALIDATE,
      OPTION_SOURCE, OPTION_KEEP, CACHE, OPTION_EFFORT, OPTION_BUDGET, OPTION_JSON, ALWAYS},
     "run a kernel on .npy files or generated data",
     "A VALUE is @file.npy, a number, or a generator: zeros, ones, arange, randn, uniform(a, b), randint(a, b); for offsets\n"
     "offsets(DIST) with DIST one of const(n), uniform(a, b), zipf(total, max), lognormal(mean, sigma). Dimensions that the\n"
     "arguments don't give come from --dim, which may say NAME=total(offsets). Inner extents are compiled in.\n"
     "Without --out a summary of each output is shown. Without --config the best config that the cache knows is taken, else\n"
     "the default; an --effort of quick or full searches for one first, unless one that was searched for so long is known.",
     "tilec run examples/jagged_sum.tile --kernel jagged_sum --arg x=randn --arg 'offsets=offsets(uniform(0, 300))' \\\n"
     "    --dim B=1000 --dim M=64 --check\n"
     "tilec run examples/jagged_softmax.tile --arg x=@x.npy --arg offsets=@offsets.npy --out out=weights.npy"},
    {"bench", command_bench, "FILE", 1, 1, NULL,
     {OPTION_KERNEL, OPTION_ARG, OPTION_DIM, OPTION_TYPE, OPTION_STATIC, OPTION_DYNAMIC, OPTION_DEVICE, OPTION_CONFIG, OPTION_VERSUS,
      OPTION_RUNS, OPTION_CHECK, OPTION_OUT, OPTION_SEED, OPTION_HISTOGRAM, OPTION_CHECKED, OPTION_NO_VALIDATE, OPTION_SOURCE,
      OPTION_KEEP, CACHE, OPTION_EFFORT, OPTION_BUDGET, OPTION_JSON, ALWAYS},
     "time a kernel against what the bytes allow",
     "Arguments are those of run. Shows the median of the timed runs, the times that a tenth of them are below and above, and\n"
     "bytes per second: of what the kernel can't do without reading and writing (every tensor once, as far as it is reached),\n"
     "beside the device's own speed of copying, measured at the same time. On cuda times are those of device events, on the\n"
     "CPU those of the clock; caches are flushed before every run. Without --config the best config that the cache knows is\n"
     "taken, else the default; an --effort of quick or full searches for one first, as in run.",
     "tilec bench examples/jagged_sum.tile --kernel jagged_sum --device cuda --arg x=randn \\\n"
     "    --arg 'offsets=offsets(uniform(1, 2047))' --dim B=1024 --dim M=256 --dim 'nnz=total(offsets)'\n"
     "tilec bench examples/jagged_softmax.tile --arg x=@x.npy --arg offsets=@offsets.npy --config best.json --vs default --json"},
    {"tune", command_tune, "FILE", 1, 1, NULL,
     {OPTION_KERNEL, OPTION_ARG, OPTION_DIM, OPTION_TYPE, OPTION_STATIC, OPTION_DYNAMIC, OPTION_DEVICE, OPTION_EFFORT, OPTION_BUDGET,
      OPTION_COUNT_OF, OPTION_SEED, OPTION_OUTPUT, OPTION_MINIMAL, OPTION_CONFIGS, OPTION_RESULTS, OPTION_JOURNAL, OPTION_JOBS,
      OPTION_COMPILE_LIMIT, OPTION_RUN_LIMIT, OPTION_FROM_CACHE, OPTION_SHARD, OPTION_FOLDER, OPTION_MERGE, OPTION_COMPILE_ONLY, OPTION_ARCH,
      OPTION_NO_VALIDATE, CACHE, OPTION_JSON, ALWAYS},
     "search for the fastest config of a kernel on data and a device",
     "Arguments are those of run. Every config is compiled in a process of its own, checked against the reference and only then\n"
     "timed; one that crashes, hangs or is wrong costs itself and nothing else. The default effort is full (60 s), quick takes 15 s,\n"
     "none tries the default config alone; --budget and --count say otherwise. An interrupt ends the search with the best so far.\n"
     "The best config is kept in the cache, where run and bench find it. Ends with 4 if no config was ok.\n"
     "With --shard each of several processes tries its share and notes it in --folder; --merge, with the same arguments, puts the\n"
     "shares together.",
     "tilec tune examples/jagged_sum.tile --kernel jagged_sum --device cuda --arg x=randn \\\n"
     "    --arg 'offsets=offsets(uniform(1, 2047))' --dim B=1024 --dim M=256 --dim 'nnz=total(offsets)' -o best.json\n"
     "tilec tune examples/jagged_softmax.tile --arg x=@x.npy --arg offsets=@offsets.npy --configs list.json --results rows.json\n"
     "tilec tune examples/jagged_softmax.tile --arg x=@x.npy --arg offsets=@offsets.npy --device cuda --shard auto --folder shards\n"
     "tilec tune examples/jagged_softmax.tile --arg x=@x.npy --arg offsets=@offsets.npy --device cuda --merge shards -o best.json"},
    {"aot", command_aot, "FILE", 1, 1, NULL,
     {OPTION_KERNEL, OPTION_SHAPES, OPTION_ARG, OPTION_DIM, OPTION_TYPE, OPTION_STATIC, OPTION_DYNAMIC, OPTION_DEVICE, OPTION_ARCH,
      OPTION_PHASE, OPTION_GOAL, OPTION_THRESHOLD, OPTION_MAX_CONFIGS, OPTION_LIST, OPTION_FOLDER, OPTION_OUT, OPTION_EFFORT, OPTION_BUDGET,
      OPTION_COUNT_OF, OPTION_FROM_CACHE, OPTION_SHARD, OPTION_COMPILE_ONLY, OPTION_SEED, OPTION_JOBS, OPTION_COMPILE_LIMIT, OPTION_RUN_LIMIT,
      OPTION_NO_VALIDATE, CACHE, ALWAYS},
     "write the heuristic file that chooses a config for each of many shapes",
     "In four phases: collect searches a config for every shape of --shapes, measure times each of them on all shapes, build writes\n"
     "the file, evaluate says what its choices cost. --folder keeps what each phase leaves; what is there isn't done again, and what\n"
     "was broken off goes on from its journal. --arg, --dim and --type hold for all shapes. --list says which file and which config\n"
     "each shape has, and by which rule. The evaluation fails if it compared nothing, or a choice isn't right. With --shard each\n"
     "process searches, or measures, its share of the shapes into the same folder.",
     "tilec aot examples/jagged_sum.tile --kernel jagged_sum --device cuda --arg x=randn --shapes shapes.json --effort quick\n"
     "tilec aot examples/jagged_sum.tile --kernel jagged_sum --device cuda --arg x=randn --shapes shapes.json --phase evaluate\n"
     "tilec aot examples/jagged_sum.tile --kernel jagged_sum --arch sm_90 --arg x=randn --shapes shapes.json --list"},
    {"compile", command_compile, "FILE", 1, 1, NULL,
     {SPECIALIZATION, LOWERING, OPTION_PTX, OPTION_SOURCE, OPTION_KEEP, OPTION_OUTPUT, OPTION_JSON, ALWAYS},
     "compile a kernel to a cubin or PTX with NVRTC, and show what it uses",
     "Needs NVRTC (of a CUDA toolkit, or of NVIDIA's Python wheels), but no GPU. Writes KERNEL.ARCH.cubin, or .ptx, of every\n"
     "kernel, unless -o says where; shows registers, spills and shared memory of each launch.",
     "tilec compile examples/jagged_sum.tile --kernel jagged_sum --arch sm_80 --arch sm_90a\n"
     "tilec compile examples/jagged_mean.tile --ptx -o mean.ptx"},
    {"bundle", command_bundle, "FILE", 1, 1, NULL,
     {SPECIALIZATION, OPTION_ARCH, OPTION_CONFIG, OPTION_HEURISTICS, OPTION_HEURISTIC_DIR, OPTION_NAME, OPTION_OUTPUT, OPTION_CACHE_DIR,
      OPTION_REMOTE_CACHE, OPTION_SKIP_CACHE, ALWAYS},
     "write a kernel as a C header and source, with its code for several architectures inside",
     "The source is C99, needs libcuda alone, and launches on a stream. It holds a cubin for each --arch (repeated, or with\n"
     "commas) and config, PTX for newer devices, and the choice among the configs of a heuristic file. -o is a folder. Needs\n"
     "NVRTC, but no GPU. Dimensions that --dim gives are compiled in, all others are open.",
     "tilec bundle examples/jagged_sum.tile --kernel jagged_sum --arch sm_80,sm_90a -o bundle\n"
     "tilec bundle examples/jagged_softmax.tile --type T=bf16 --dim M=64 --config best.json --name softmax64 -o bundle"},
    {"config", command_config, "ACTION FILE", 2, 2, "space default random check",
     {SPECIALIZATION, OPTION_TARGET, OPTION_ARCH, OPTION_CONFIG, OPTION_SEED, OPTION_COUNT_OF, OPTION_MINIMAL, OPTION_OUTPUT,
      OPTION_ROWS, OPTION_MEAN_LENGTH, OPTION_MAX_LENGTH, ALWAYS},
     "show, draw and check configs",
     "space: the knobs of a kernel and their choices. default: the config used when none is given, on a GPU for rows of --rows,\n"
     "--mean-length and --max-length. random: --count configs drawn with --seed. check: whether the config of --config fits the\n"
     "kernel and can be lowered; writes it out in full, or with --minimal as short as can be.",
     "tilec config space examples/jagged_sum.tile --kernel jagged_sum\n"
     "tilec config default examples/jagged_mean.tile --dim M=256 --rows 1024 --mean-length 800 --max-length 131072\n"
     "tilec config random examples/jagged_sum.tile --kernel jagged_sum --seed 7 --count 100\n"
     "tilec config check examples/jagged_mean.tile --config best.json --minimal -o best.json"},
    {"cache", command_cache, "ACTION [KEY]", 1, 2, "list show clear path", {OPTION_CACHE_DIR, OPTION_REMOTE_CACHE, OPTION_JSON, ALWAYS},
     "look at the cache of best configs and binaries, or clear it",
     "list: the best known configs. show: one of them, whose KEY begins so, with all that it depends on. clear: removes one,\n"
     "or everything. path: the folder.",
     "tilec cache list\n"
     "tilec cache show 1a2b3c4d5e6f\n"
     "tilec cache clear"},
    {"explain", command_explain, "CODE", 0, 1, NULL, {OPTION_LIST, ALWAYS},
     "say more about the code of a message, with an example",
     "Codes stand in brackets behind `error` and `warning`.",
     "tilec explain E0203\n"
     "tilec explain --list"},
    {"doctor", command_doctor, "[FILE]", 0, 1, NULL,
     {SPECIALIZATION, OPTION_TARGET, OPTION_ARCH, OPTION_MAX_LENGTH, OPTION_HEURISTIC_DIR, OPTION_JSON, ALWAYS},
     "look at this machine: compiler, NVRTC, driver, cache; or at the heuristics of a program",
     "Without FILE ends with 3 if something is missing that a command needs, and says how to get it. With FILE says which\n"
     "heuristic file each kernel has on a target, for which program, and, where --dim gives its dimensions, by which rule\n"
     "which config is chosen.",
     "tilec doctor\n"
     "tilec doctor examples/jagged_sum.tile --kernel jagged_sum --arch sm_90 --dim B=1024 --dim nnz=1000000 --dim M=64"},
    {"completions", command_completions, "SHELL", 1, 1, "bash zsh fish", {ALWAYS},
     "write completions for a shell",
     "Put the output where the shell looks for completions, or source it.",
     "source <(tilec completions bash)\n"
     "tilec completions fish > ~/.config/fish/completions/tilec.fish"},
    {"manual", command_manual, "", 0, 0, NULL, {ALWAYS},
     "write the manual page",
     "The page is made from the same tables as this help.",
     "tilec manual > tilec.1 && man -l tilec.1"},
    {0},
};

const struct command *command_named(const char *name)
{
    for (const struct command *command = commands; command->name; command++)
        if (strcmp(command->name, name) == 0) return command;
    return NULL;
}

static tilec_result run_command(const struct command *command, int argc, char **argv)
{
    struct arguments arguments;
    tilec_result result = TILEC_USAGE;
    if (read_command_line(command, argc, argv, &arguments)) {
        if (has_option(&arguments, OPTION_HELP)) print_command_help(command), result = TILEC_OK;
        else result = command->run(&arguments);
    }
    free_command_line(&arguments);
    return result;
}

static tilec_result no_such_command(const char *word)
{
    struct closest closest = {0};
    for (const struct command *command = commands; command->name; command++) closest_offer(&closest, word, command->name);
    if (closest.name) return usage_error("no such command: %s; is `%s` meant?", word, closest.name);
    return usage_error("no such %s: %s; see tilec --help", word[0] == '-' ? "option" : "command", word);
}

static tilec_result help_on(const char *name)
{
    const struct command *command = name ? command_named(name) : NULL;
    if (name && !command) return no_such_command(name);
    if (command) print_command_help(command);
    else print_help();
    return TILEC_OK;
}

static tilec_result dispatch(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word) return usage_error("wants a command; see tilec --help");
    if (strcmp(word, "--version") == 0) return printf("tilec %s\n", tilec_version()), TILEC_OK;
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return help_on(argc > 2 ? argv[2] : NULL);
    const struct command *command = command_named(word);
    if (command) return run_command(command, argc - 1, argv + 1);
    return no_such_command(word);
}

// A file opened later must not get the number of a closed standard stream: data would go into it, or come out of it.
static void keep_standard_streams(void)
{
    for (int file = 0; file < 3; file++)
        if (fcntl(file, F_GETFD) < 0 && errno == EBADF && open("/dev/null", file == 0 ? O_WRONLY : O_RDONLY) != file) return;
}

int main(int argc, char **argv)
{
    keep_standard_streams();
    signal(SIGPIPE, SIG_IGN);  // a closed pipe is a failed write, reported like any other
    signal(SIGXFSZ, SIG_IGN);  // so is a file over the limit of ulimit -f
    return (int)close_output(dispatch(argc, argv));
}
