/*
 * The rows of the top level, of `trace` and of `jobs`.
 *
 * The tables of other parts hang below: net owns `cluster`, train owns `workload`. One job is
 * written `workload:` and stands at jobs.main.workload, so that a second job changes no path.
 */
#include "config/tables.h"

static const char *const trace_levels[] = {"none", "steps", "ops", "messages", NULL};
static const char *const all_word[] = {"all", NULL};
static const char *const auto_all_words[] = {"auto", "all", NULL};

const LsConfigKey ls_config_keys[] = {
    {.path = "lockstep",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 1,
     .default_text = "1",
     .meaning = "format of the file",
     .source = "this program reads format 1"},
    {.path = "title",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_JOINED,
     .meaning = "a line for people, shown in summaries with what --set changed; files laid on one "
                "another join theirs"},
    {.path = "seed",
     .type = LS_CONFIG_INTEGER,
     .default_text = "1",
     .meaning = "where all random streams start; the same seed gives the same run, bit for bit",
     .source = "convention"},
    {.path = "trace", .type = LS_CONFIG_MAP, .word = "level", .meaning = "what a run records"},
    {.path = "trace.level",
     .type = LS_CONFIG_WORD,
     .choices = trace_levels,
     .default_text = "ops",
     .meaning = "grain of the trace: nothing, steps (of the job and of each rank), every "
                "operation, or also "
                "every message of collectives that run as messages",
     .source = "a trace should answer why, not only how long"},
    {.path = "trace.ranks",
     .type = LS_CONFIG_INDEXES,
     .choices = auto_all_words,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .default_text = "auto",
     .meaning = "ranks whose operations are recorded; auto: all up to 64, else one per kind",
     .source = "the trace contract",
     .when = "only with trace.level: ops or messages"},
    {.path = "trace.steps",
     .type = LS_CONFIG_INDEXES,
     .choices = all_word,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .default_text = "all",
     .meaning = "steps that are recorded, counted from 0",
     .source = "convention",
     .when = "only with a trace.level other than none"},
    {.path = "workload", .type = LS_CONFIG_ALIAS, .alias = "jobs.main.workload"},
    {.path = "jobs",
     .type = LS_CONFIG_MAP,
     .meaning = "jobs by name, on GPUs of their own and one network; a single one may be written "
                "workload: and is then called main"},
    {.path = "jobs.*", .type = LS_CONFIG_MAP, .meaning = "one job"},
    {.path = "jobs.*.workload",
     .type = LS_CONFIG_MAP,
     .flags = LS_CONFIG_REQUIRED,
     .alias = "workload",
     .meaning = "what the job trains and how, see workload"},
    {.path = "jobs.*.placement", .type = LS_CONFIG_ALIAS, .alias = "workload.placement"},
    {.path = "jobs.*.start",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_TIME,
     .default_text = "0 s",
     .source = "at once",
     .meaning = "when the job starts, from the start of the run"},
    {0},
};

const LsConfigKey ls_config_later_keys[] = {
    {.path = "study",
     .type = LS_CONFIG_MAP,
     .later = "studies over many cases",
     .meaning = "cases, axes and replications for sweeps"},
    {0},
};
