/* What starts a training run, made a scenario: `stoker import launch`.
 *
 * A shell script or a command line is read by launch/shell.h; of its commands that one is taken
 * which has most of a trainer's arguments.
 */
#include "foreign/import.h"

#include "foreign/launch/launch.h"
#include "foreign/launch/scenario_text.h"
#include "foreign/launch/shell.h"
#include "foreign/megatron/megatron_arguments.h"
#include "foreign/megatron/megatron_run.h"

#include "base/arena.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* Of fewer arguments that a trainer has a command is none that starts a run. */
enum { ARGUMENTS_LEAST = 3 };

/* ---- launchers ------------------------------------------------------------------------------ */

/* torchrun, torch.distributed.launch, deepspeed, srun, sbatch. */
static const struct {
    const char *option, *name;
} launchers[] = {
    {"nproc_per_node", "nproc_per_node"},
    {"num_gpus", "nproc_per_node"},
    {"gpus_per_node", "nproc_per_node"},
    {"ntasks_per_node", "ntasks_per_node"},
    {"nnodes", "nnodes"},
    {"num_nodes", "nnodes"},
    {"nodes", "nnodes"},
    {"num_processes", "world_size"},
    {"hostfile", "hostfile"},
    {"deepspeed_hostfile", "hostfile"},
};

static const char *launcher_name(const char *option)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (strcmp(launchers[i].option, option) == 0) {
            return launchers[i].name;
        }
    }
    return NULL;
}

/* Slurm's GPUs of a node, "8", "h100:8", "h100" (one of them): a word is what they are. */
static void read_gpus(struct told *told, const char *value, const char *at)
{
    struct arena *arena = told->importer->arena;
    const size_t kind = strspn(value, "0123456789") == 0 ? strcspn(value, ":,(") : 0;
    const char *number = value + kind + (value[kind] == ':' ? 1 : 0);
    const size_t digits = strspn(number, "0123456789");
    if (told_find(told, "nproc_per_node") == NULL) {
        told_set(told, &(struct told_setting){
                           .name = "nproc_per_node",
                           .value = digits > 0 ? arena_strndup(arena, number, digits) : "1",
                           .at = at});
    }
    if (kind > 0) {
        told_set(told, &(struct told_setting){
                           .name = "device", .value = arena_strndup(arena, value, kind), .at = at});
    }
}

/* "--nodes=8", "-N 8" of a batch script's head. */
static void read_sbatch(struct told *told, struct text_span line)
{
    struct arena *arena = told->importer->arena;
    struct text_span words[16];
    const uint32_t count = text_words(line, words, 16);
    for (uint32_t i = 1; i < count; i++) {
        const char *word = text_span_copy(arena, words[i]);
        const bool is_long = strncmp(word, "--", 2) == 0;
        const char *sign = strchr(word, '=');
        const char *value = sign != NULL    ? sign + 1
                            : i + 1 < count ? text_span_copy(arena, words[i + 1])
                                            : "";
        char *name =
            arena_strndup(arena, word + (is_long ? 2 : 0), strcspn(word, "=") - (is_long ? 2 : 0));
        for (char *letter = name; *letter != '\0'; letter++) {
            *letter = (char)(*letter == '-' ? '_' : *letter);
        }
        const bool is_letter = strncmp(word, "-N", 2) == 0; /* -N 8, -N8 */
        value = is_letter && word[2] != '\0' ? word + 2 : value;
        const char *known = is_letter ? "nnodes" : is_long ? launcher_name(name) : NULL;
        const char *gres = is_long && strcmp(name, "gres") == 0 ? strstr(value, "gpu") : NULL;
        if (gres != NULL) {
            read_gpus(told, gres + 3 + (gres[3] == ':' ? 1 : 0), words[i].begin);
        } else if (is_long && strcmp(name, "gpus_per_node") == 0) {
            read_gpus(told, value, words[i].begin);
        } else if (known != NULL && told_find(told, known) == NULL) {
            told_set(told, &(struct told_setting){known, value, words[i].begin, {0}});
        }
    }
}

static void read_sbatch_lines(struct told *told)
{
    for (const char *next = told->importer->file.text; next != NULL;) {
        const struct text_span line = text_line(next, &next);
        if (text_span_length(line) > 7 && strncmp(line.begin, "#SBATCH", 7) == 0) {
            read_sbatch(told, line);
        }
    }
    /* Slurm starts what no launcher does, one process a GPU. */
    const struct told_setting *tasks = told_find(told, "ntasks_per_node");
    if (tasks != NULL && told_find(told, "nproc_per_node") == NULL &&
        strcmp(tasks->value, "1") != 0) {
        struct told_setting setting = *tasks;
        setting.name = "nproc_per_node";
        told_set(told, &setting);
    }
    told_drop(told, "ntasks_per_node");
}

/* ---- trainers ------------------------------------------------------------------------------- */

/* Whose arguments a command line may have. */
struct trainer {
    bool has_dashes; /* in its options' names */
    told_find_row *row;
    bool (*is_flag)(const char *name); /* an option without a value; NULL: it stands alone */
    bool (*read)(struct told *told, const struct shell_script *script);
    const char *(*software)(struct told *told);
};

/* With ZeRO's stage of DeepSpeed's file, where the command line does not say it and has one. */
static bool read_megatron(struct told *told, const struct shell_script *script)
{
    static const char stage[] = "ds.zero_optimization.stage";
    if (told_find(told, "deepspeed_config") != NULL &&
        deepspeed_is_there(told, "deepspeed_config", script)) {
        if (!deepspeed_open(told, "deepspeed_config", script)) {
            return false;
        }
        const struct told_setting *setting = told_find(told, stage);
        if (setting != NULL && told_find(told, "zero_stage") == NULL) {
            struct told_setting said = *setting;
            said.name = "zero_stage";
            told_set(told, &said);
        }
    }
    return megatron_read(told);
}

static const char *megatron_software(struct told *told)
{
    return megatron_is_deepspeed(told) ? "megatron-deepspeed-2022" : "megatron-2026";
}

static bool read_trainer(struct told *told, const struct shell_script *script)
{
    if (!accelerate_read(told, script)) {
        return false;
    }
    const char *name = told_find(told, "deepspeed") != NULL ? "deepspeed" : "deepspeed_config";
    const struct told_setting *setting = told_find(told, name);
    const bool is_named = setting != NULL && strcmp(setting->value, "True") != 0;
    const bool has_file = is_named || told->importer->with != NULL;
    return (!has_file || deepspeed_open(told, name, script)) && trainer_read(told);
}

static const struct trainer trainers[] = {
    {true, megatron_argument, megatron_is_flag, read_megatron, megatron_software},
    {false, trainer_row, NULL, read_trainer, trainer_software},
};
enum { TRAINER_COUNT = sizeof trainers / sizeof *trainers };

/* ---- arguments ------------------------------------------------------------------------------ */

/* "--tensor-model-parallel-size=8" -> "tensor_model_parallel_size"; NULL: no option. */
static const char *option_name(struct arena *arena, const struct shell_word *word)
{
    if (word->length < 3 || strncmp(word->text, "--", 2) != 0 ||
        !isalpha((unsigned char)word->text[2])) {
        return NULL;
    }
    char *name =
        told_lower(arena, arena_strndup(arena, word->text + 2, strcspn(word->text + 2, "=")));
    for (char *letter = name; *letter != '\0'; letter++) {
        *letter = (char)(*letter == '-' ? '_' : *letter);
    }
    return name;
}

static bool is_program(const char *word)
{
    const size_t length = strlen(word);
    return length > 3 && strcmp(word + length - 3, ".py") == 0;
}

/* A variable that is not set is no word at all. */
static bool is_unset(const char *word)
{
    return word[0] == SHELL_UNKNOWN && word[1] != '$' && word[1] != '`' &&
           strchr(word, SHELL_KNOWN) == word + strlen(word) - 1;
}

/* How many words are an option's values; of no trainer's one. */
static size_t values_max(const struct trainer *trainer, const char *name)
{
    if (trainer == NULL) {
        return 1;
    }
    const struct told_row row = trainer->row(name);
    const bool has_none = (trainer->is_flag != NULL && trainer->is_flag(name)) ||
                          (row.use == TOLD_SPELLING && row.usual != NULL);
    return launcher_name(name) != NULL ? 1 : has_none ? 0 : SIZE_MAX;
}

/* Words behind an option, joined; *i moves to the last of them. */
static const char *option_value(struct arena *arena, const struct trainer *trainer,
                                const struct shell_words *words, size_t *i, const char **at)
{
    const struct shell_word *word = &words->items[*i];
    const size_t most = values_max(trainer, option_name(arena, word));
    const char *sign = strchr(word->text, '=');
    if (sign != NULL) {
        const size_t offset = (size_t)(sign + 1 - word->text);
        *at = offset < word->length ? word->from[offset] : word->at;
        return sign + 1;
    }
    const char *value = NULL;
    *at = word->at;
    for (size_t count = 0; count < most && *i + 1 < words->count; count++) {
        const struct shell_word *next = &words->items[*i + 1];
        if (option_name(arena, next) != NULL || is_program(next->text)) {
            break;
        }
        ++*i;
        if (value == NULL) {
            *at = next->at;
            value = next->text;
        } else if (!is_unset(next->text)) {
            value = arena_printf(arena, "%s %s", value, next->text);
        }
    }
    return value;
}

/* Without the quotes that `eval` would take off. */
static const char *bare(struct arena *arena, const char *value)
{
    const size_t length = strlen(value);
    const bool is_quoted =
        length > 1 && (value[0] == '\'' || value[0] == '"') && value[length - 1] == value[0];
    return is_quoted ? arena_strndup(arena, value + 1, length - 2) : value;
}

static void set_argument(struct told *told, const struct trainer *trainer,
                         const struct told_setting *said)
{
    const char *name = said->name, *value = said->value, *at = said->at;
    const struct told_row row = trainer->row(name);
    const char *launcher = launcher_name(name);
    struct told_setting setting = {
        name, value != NULL ? bare(told->importer->arena, value) : "True", at, {0}};
    if (launcher != NULL) {
        setting.name = launcher;
    } else if (row.use == TOLD_SPELLING) {
        setting.name = row.means;
        setting.value = row.usual != NULL ? row.usual : setting.value;
    }
    told_set(told, &setting);
}

/* Options of torchrun are before the program; what is behind it is the trainer's. */
static void read_arguments(struct told *told, const struct trainer *trainer,
                           const struct shell_words *words)
{
    size_t program = 0;
    bool is_accelerated = false;
    while (program < words->count && !is_program(words->items[program].text)) {
        const char *word = words->items[program].text;
        is_accelerated = is_accelerated || strstr(word, "accelerate") != NULL;
        program++;
    }
    const bool has_program = program < words->count;
    if (has_program) {
        const struct shell_word *word = &words->items[program];
        told_set(told, &(struct told_setting){"program", word->text, word->at, {0}});
    }
    if (is_accelerated && has_program) {
        told_set(told, &(struct told_setting){"accelerate.launch", "True", NULL, {0}});
    }
    for (size_t i = 0; i < words->count; i++) {
        const char *name = option_name(told->importer->arena, &words->items[i]);
        const char *at = NULL;
        const bool is_launchers = has_program && i < program;
        if (name == NULL) {
            continue;
        }
        const char *value = option_value(told->importer->arena, trainer, words, &i, &at);
        if (is_launchers && is_accelerated && accelerate_is_known(name)) {
            told_set(told, &(struct told_setting){
                               arena_printf(told->importer->arena, "accelerate.%s", name),
                               value != NULL ? value : "True",
                               at,
                               {0}});
        } else if (!is_launchers || launcher_name(name) != NULL) {
            set_argument(told, trainer, &(struct told_setting){name, value, at, {0}});
        }
    }
}

/* ---- which command -------------------------------------------------------------------------- */

/* A quoted text of several arguments is all of them. */
static struct shell_words spread(struct shell *shell, const struct shell_words *words)
{
    struct shell_words all = {0};
    for (size_t i = 0; i < words->count; i++) {
        const struct shell_word *word = &words->items[i];
        const bool has_blanks = strpbrk(word->text, " \t\n") != NULL;
        if (has_blanks && strchr(word->text, '$') != NULL &&
            strchr(word->text, SHELL_UNKNOWN) == NULL) {
            struct shell_words again = {0};
            shell_expand_again(shell, word, &again);
            shell_split(shell, &again.items[0], &all);
        } else if (has_blanks && strstr(word->text, "--") != NULL) {
            shell_split(shell, word, &all);
        } else {
            *shell_add_word(shell, &all) = *word;
        }
    }
    return all;
}

static uint32_t score(struct arena *arena, const struct trainer *trainer,
                      const struct shell_words *words)
{
    uint32_t count = 0;
    for (size_t i = 0; i < words->count; i++) {
        const char *name = option_name(arena, &words->items[i]);
        if (name != NULL && launcher_name(name) == NULL) {
            const enum told_use use = trainer->row(name).use;
            count += use == TOLD_READ || use == TOLD_SPELLING ? 1 : 0;
        }
    }
    return count;
}

struct choice {
    const struct trainer *trainer; /* NULL: overrides of NeMo's */
    struct shell_words words;
    uint32_t count; /* of its arguments that are read */
};

/* Options that name what the overrides are of: a recipe of Megatron-Bridge, a factory of NeMo 2, a
 * configuration of NeMo 1. */
static bool names_recipe(const char *option)
{
    return option != NULL && (strcmp(option, "recipe") == 0 || strcmp(option, "factory") == 0 ||
                              strcmp(option, "config_name") == 0);
}

/* Overrides; a recipe says as much as a run's fewest arguments, a configuration is a file. */
static uint32_t overrides_of(struct arena *arena, const struct shell_words *words)
{
    uint32_t count = 0;
    for (size_t i = 0; i < words->count; i++) {
        const char *option = option_name(arena, &words->items[i]);
        const bool is_recipe = names_recipe(option) && strcmp(option, "config_name") != 0;
        count += nemo_is_override(words->items[i].text) ? 1 : 0;
        count += is_recipe ? ARGUMENTS_LEAST : 0;
    }
    return count;
}

static void weigh(struct shell *shell, const struct shell_words *words, struct choice *best)
{
    for (size_t k = 0; k < TRAINER_COUNT; k++) {
        const uint32_t count = score(shell->arena, &trainers[k], words);
        if (count > best->count) {
            *best = (struct choice){&trainers[k], *words, count};
        }
    }
    const uint32_t overrides = overrides_of(shell->arena, words);
    if (overrides > best->count) {
        *best = (struct choice){NULL, *words, overrides};
    }
}

/* Adds words that have arguments of any trainer. */
static void add_arguments(struct shell *shell, const struct shell_words *words,
                          struct shell_words *all)
{
    const struct shell_words parts = spread(shell, words);
    struct choice part = {0};
    weigh(shell, &parts, &part);
    for (size_t k = 0; k < parts.count && part.count > 0; k++) {
        *shell_add_word(shell, all) = parts.items[k];
    }
}

/* Other commands that are runs of their own, and arguments that none takes. */
static void tell_others(struct shell_script *script, const struct choice *best)
{
    struct importer *importer = script->shell.importer;
    const char *chosen = best->words.count > 0 ? best->words.items[0].at : NULL;
    uint32_t runs = 0;
    for (size_t i = 0; i < script->command_count; i++) {
        const struct shell_words *command = &script->commands[i];
        const struct shell_words words = spread(&script->shell, command);
        const char *at = words.count > 0 ? words.items[0].at : NULL;
        struct choice other = {0};
        weigh(&script->shell, &words, &other);
        if (at != NULL && at != chosen && other.count > 0 &&
            strncmp(words.items[0].text, "--", 2) == 0) {
            const struct place place = text_file_place(&importer->file, at);
            diag_add(importer->diag, DIAG_WARNING, &place,
                     "these arguments are no command's, and are not read");
            diag_help(importer->diag, "a comment, or a line without a backslash at its end, is "
                                      "before them");
        }
        const char *name = words.count > 0 ? words.items[0].text : ".";
        const bool is_run = strchr("-.", name[0]) == NULL && strcmp(name, "echo") != 0;
        runs += is_run && other.count >= ARGUMENTS_LEAST ? 1 : 0;
    }
    if (runs > 1 && chosen != NULL) {
        const struct place place = text_file_place(&importer->file, chosen);
        diag_add(importer->diag, DIAG_NOTE, &place,
                 "%" PRIu32 " commands of it start a training run; read is this one, which has "
                 "most arguments",
                 runs);
    }
}

/* The command with most arguments of a trainer, else all that variables hold. */
static struct choice choose_words(struct shell_script *script)
{
    struct shell *shell = &script->shell;
    struct choice best = {0};
    for (size_t i = 0; i < script->command_count; i++) {
        const struct shell_words words = spread(shell, &script->commands[i]);
        weigh(shell, &words, &best);
    }
    if (best.count >= ARGUMENTS_LEAST) {
        tell_others(script, &best);
        return best;
    }
    struct shell_words all = {0};
    for (size_t i = 0; i < script->command_count; i++) {
        add_arguments(shell, &script->commands[i], &all);
    }
    for (size_t i = 0; i < shell->variable_count; i++) {
        add_arguments(shell, &shell->variables[i].values, &all);
    }
    weigh(shell, &all, &best);
    return best;
}

/* Other scripts that this one reads. */
static void tell_sourced(struct importer *importer, const struct shell_script *script)
{
    for (size_t i = 0; i < script->command_count; i++) {
        const struct shell_words *words = &script->commands[i];
        const char *first = words->items[0].text;
        if (words->count > 1 && (strcmp(first, ".") == 0 || strcmp(first, "source") == 0)) {
            const struct place place = text_file_place(&importer->file, words->items[1].at);
            diag_add(importer->diag, DIAG_WARNING, &place, "what this file says is not read");
            diag_help(importer->diag, "put it in: cat this one and the script into one file");
        }
    }
}

/* Which branches were taken depends on what was not said. */
static void tell_tested(struct importer *importer, const struct shell_script *script)
{
    const char *list = "";
    for (size_t i = 0; i < script->tested_count; i++) {
        list = arena_printf(importer->arena, "%s%s$%s", list, i > 0 ? ", " : "", script->tested[i]);
    }
    if (script->tested_count > 0) {
        diag_add(importer->diag, DIAG_NOTE, NULL,
                 "branches are read as where these are not set: %s; --variable NAME=VALUE and "
                 "--arguments set them",
                 list);
    }
}

/* Overrides "a.b=c", and the recipe that they are of. */
static void read_overrides(struct told *told, const struct shell_words *words)
{
    struct arena *arena = told->importer->arena;
    for (size_t i = 0; i < words->count; i++) {
        const struct shell_word *word = &words->items[i];
        const char *option = option_name(arena, word);
        const bool names = names_recipe(option);
        if (nemo_is_override(word->text)) {
            const size_t length = strcspn(word->text, "=");
            nemo_tell(told, &(struct told_setting){.name = arena_strndup(arena, word->text, length),
                                                   .value = bare(arena, word->text + length + 1),
                                                   .at = length + 1 < word->length
                                                             ? word->from[length + 1]
                                                             : word->at});
        } else if (names || (option != NULL && launcher_name(option) != NULL)) {
            const char *at = NULL;
            const char *value = option_value(arena, NULL, words, &i, &at);
            told_set(told, &(struct told_setting){names ? "recipe" : launcher_name(option),
                                                  value != NULL ? value : "",
                                                  at,
                                                  {0}});
        }
    }
}

/* Nodes that a file lists, and nothing else tells, are not one. */
static bool tells_hosts(struct told *told)
{
    const struct importer *importer = told->importer;
    const bool is_told = told_find(told, "nnodes") != NULL ||
                         told_find(told, "world_size") != NULL || importer->gpus > 0 ||
                         importer->nodes > 0;
    if (told_find(told, "hostfile") != NULL && !is_told) {
        told_refuse(told, "hostfile",
                    "this list of hosts is not read, and tells how many there are",
                    "say it: --nodes N, or --gpus N");
        return false;
    }
    told_drop(told, "hostfile");
    return true;
}

static bool import_overrides(struct told *told, const struct shell_words *words)
{
    told->sign = "";
    told->has_dashes = false;
    read_overrides(told, words);
    read_sbatch_lines(told);
    return tells_hosts(told) && nemo_read(told) && scenario_print(told, "megatron-2026");
}

static bool import_script(struct importer *importer)
{
    struct shell_script script;
    if (!shell_read(importer, &script)) {
        return false;
    }
    tell_sourced(importer, &script);
    tell_tested(importer, &script);
    const struct choice choice = choose_words(&script);
    struct told told = {.importer = importer,
                        .what = "the script",
                        .sign = "--",
                        .remedy = "add it to the script's arguments; or name the model: --model "
                                  "NAME, of `stoker list models`"};
    if (choice.count < ARGUMENTS_LEAST) {
        told_refuse(&told, NULL, "no command of it starts a training run that is known",
                    "arguments of Megatron-LM are, like --tensor-model-parallel-size 8, and of "
                    "Hugging Face's Trainer, like --per_device_train_batch_size 4");
        return false;
    }
    if (choice.trainer == NULL) {
        return import_overrides(&told, &choice.words);
    }
    told.has_dashes = choice.trainer->has_dashes;
    read_arguments(&told, choice.trainer, &choice.words);
    read_sbatch_lines(&told);
    if (!tells_hosts(&told)) {
        return false;
    }
    return choice.trainer->read(&told, &script) &&
           scenario_print(&told, choice.trainer->software(&told));
}

/* ---- configurations ------------------------------------------------------------------------- */

/* A section of NeMo's, or of Megatron-Bridge's, with a layout or a model in it. */
static bool is_nemo(const struct doc_node *root)
{
    static const char *const paths[] = {"model.tensor_model_parallel_size",
                                        "model.encoder_seq_length",
                                        "model.seq_length",
                                        "trainer.num_nodes",
                                        "trainer.strategy",
                                        "train.global_batch_size",
                                        "training.model",
                                        "model.num_layers"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        if (doc_find(root, paths[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool import_nemo(struct told *told, const struct doc_node *root)
{
    struct told keys = {.importer = told->importer, .sign = ""};
    document_tell(&keys, root, "");
    for (size_t i = 0; i < keys.setting_count; i++) {
        nemo_tell(told, &keys.settings[i]);
    }
    return nemo_read(told) && scenario_print(told, "megatron-2026");
}

/* JSON or YAML: of DeepSpeed, or of TrainingArguments, where one may stand in the other. */
static bool import_document(struct importer *importer)
{
    const struct text_file *file = &importer->file;
    const struct doc_node *root =
        doc_parse(importer->arena, file->path, file->text, file->length, importer->diag);
    struct told told = {.importer = importer,
                        .what = "the configuration",
                        .sign = "",
                        .remedy = "add it to the file; or name the model: --model NAME, of `stoker "
                                  "list models`"};
    if (root == NULL) {
        return false;
    }
    if (is_nemo(root)) {
        return import_nemo(&told, root);
    }
    const bool is_deepspeed = doc_find(root, "zero_optimization") != NULL ||
                              doc_find(root, "train_micro_batch_size_per_gpu") != NULL;
    const struct doc_node *within = doc_find(root, "deepspeed");
    document_tell(&told, root, is_deepspeed ? "ds." : "");
    if (within != NULL && within->kind == DOC_MAPPING) {
        document_tell(&told, within, "ds.");
    } else if (within != NULL && !is_deepspeed && !deepspeed_open(&told, "deepspeed", NULL)) {
        return false;
    }
    return trainer_read(&told) && scenario_print(&told, trainer_software(&told));
}

static bool import_toml(struct importer *importer)
{
    struct told told = {.importer = importer, .what = "the configuration", .sign = ""};
    return titan_read_told(&told) && scenario_print(&told, "torchtitan-2025");
}

/* The first line with a word is a section's: "[job]". */
static bool is_toml(const char *text)
{
    for (const char *next = text; next != NULL;) {
        const struct text_span line = text_bare(text_line(next, &next));
        const size_t length = text_span_length(line);
        if (length > 0 && line.begin[0] != '#') {
            return length > 2 && line.begin[0] == '[' && isalpha((unsigned char)line.begin[1]) &&
                   line.end[-1] == ']';
        }
    }
    return false;
}

/* The first line with a word: "{", "key:" without blanks before the colon, else a script's. */
static bool is_document(const char *text)
{
    for (const char *next = text; next != NULL;) {
        const struct text_span line = text_line(next, &next);
        const char *at = line.begin;
        while (at < line.end && isspace((unsigned char)*at)) {
            at++;
        }
        if (at == line.end || *at == '#' || text_span_is(line, "---")) {
            continue;
        }
        const char *word = at;
        while (word < line.end && (isalnum((unsigned char)*word) || *word == '_')) {
            word++;
        }
        return *at == '{' || (word > at && word < line.end && *word == ':' &&
                              (word + 1 == line.end || isspace((unsigned char)word[1])));
    }
    return false;
}

bool import_launch(struct importer *importer)
{
    const char *text = importer->file.text;
    return is_toml(text)       ? import_toml(importer)
           : is_document(text) ? import_document(importer)
                               : import_script(importer);
}
