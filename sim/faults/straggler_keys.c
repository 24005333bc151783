/* Keys of stragglers; see stragglers.h. */
#include "faults/stragglers.h"
#include "train/read/distribution_keys.h"

#define S "faults.stragglers.*"

static const char *const parts[] = {"compute", "input", "host", "network", NULL};
static const char *const pers[] = {"run", "step", "operation", NULL};

/* A length of time: a quantity alone is a constant one. */
#define SPAN_ROWS(key, text)                                                                  \
  {.path = S key, .type = LS_CONFIG_MAP, .number = "value", .meaning = text},                 \
      {.path = S key ".dist",                                                                 \
       .type = LS_CONFIG_WORD,                                                                \
       .flags = LS_CONFIG_DISCRIMINATOR,                                                      \
       .choices_list = ls_distribution_names,                                                 \
       .default_text = "constant",                                                            \
       .source = "a time alone is one",                                                       \
       .meaning = "a row of `lockstep list distributions`; exponential: a Markov process"},   \
      LS_DISTRIBUTION_TIME_ROW (S key, "value", "the time itself (constant)"),                \
      LS_DISTRIBUTION_TIME_ROW (S key, "mean", "mean; of shifted-exponential without shift"), \
      LS_DISTRIBUTION_TIME_ROW (S key, "shift", "least time"),                                \
      LS_DISTRIBUTION_TIME_ROW (S key, "low", "least time"),                                  \
      LS_DISTRIBUTION_TIME_ROW (S key, "high", "longest time"),                               \
      LS_DISTRIBUTION_TIME_ROW (S key, "median", "half are shorter"),                         \
      LS_DISTRIBUTION_TIME_ROW (S key, "scale", "63.2 % are shorter (weibull)"),              \
      LS_DISTRIBUTION_TIME_ROW (S key, "minimum", "least time (pareto)"),                     \
      LS_DISTRIBUTION_TIME_ROW (S key, "fast", "the usual time (bimodal)"),                   \
      LS_DISTRIBUTION_TIME_ROW (S key, "slow", "the other time (bimodal)"),                   \
      {.path = S key ".slow_share",                                                           \
       .type = LS_CONFIG_QUANTITY,                                                            \
       .dimension = LS_DIMENSION_FRACTION,                                                    \
       .maximum = 1,                                                                          \
       .meaning = "how often it is the other (bimodal)",                                      \
       .when = "only with the distributions that have it"},                                   \
      LS_DISTRIBUTION_NUMBER_ROW (S key, "sigma", "deviation of the logarithm (lognormal)"),  \
      LS_DISTRIBUTION_NUMBER_ROW (S key, "shape", "shape of gamma, weibull, pareto"), {       \
    .path = S key ".file", .type = LS_CONFIG_FILE,                                            \
    .meaning = "text file with a number of seconds a line (empirical)",                       \
    .when = "only with the distributions that have it"                                        \
  }

const LsConfigKey ls_stragglers_keys[] = {
    {.path = "faults", .type = LS_CONFIG_MAP, .meaning = "what is slow, and what fails how often"},
    {.path = "faults.stragglers",
     .type = LS_CONFIG_MAP,
     .meaning = "what is slow, by names of your own; see docs/stragglers.md"},
    {.path = S, .type = LS_CONFIG_MAP, .meaning = "ranks or links that are slow in one way"},
    {.path = S ".target",
     .type = LS_CONFIG_MAP,
     .flags = LS_CONFIG_REQUIRED,
     .meaning = "what is slow: one of rank, ranks, node, nodes, all; of a network nic, link, node, "
                "nodes"},
    {.path = S ".target.rank", .type = LS_CONFIG_INTEGER, .meaning = "one rank"},
    {.path = S ".target.ranks",
     .type = LS_CONFIG_INDEXES,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .meaning = "several, such as 0-7"},
    {.path = S ".target.node",
     .type = LS_CONFIG_STRING,
     .meaning = "all ranks on a node, such as main[3]; of a network its adapters"},
    {.path = S ".target.nodes",
     .type = LS_CONFIG_STRING,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .meaning = "the same of several nodes"},
    {.path = S ".target.nic",
     .type = LS_CONFIG_STRING,
     .meaning = "an adapter, such as main[3]/nic2",
     .when = "only with affects network"},
    {.path = S ".target.link",
     .type = LS_CONFIG_STRING,
     .meaning = "a link by its name in `check --topology`, or a pattern with * and ?",
     .when = "only with affects network"},
    {.path = S ".target.all", .type = LS_CONFIG_BOOLEAN, .meaning = "true: every rank"},
    {.path = S ".affects",
     .type = LS_CONFIG_WORD,
     .choices = parts,
     .default_text = "compute",
     .source = "the usual case: a GPU with lower clocks",
     .meaning = "kernels; the data loader; the whole process, which stops; links"},
    LS_DISTRIBUTION_FACTOR_ROWS (S ".time_factor", 1, "how many times as long it takes"),
    {.path = S ".per",
     .type = LS_CONFIG_WORD,
     .choices = pers,
     .default_text = "run",
     .source = "a machine that is slow stays so",
     .meaning = "how often the factor is drawn anew, for each rank",
     .when = "only with affects compute, input"},
    {.path = S ".from",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_TIME,
     .maximum = 1e6,
     .meaning = "when it begins; 0 s if not given"},
    {.path = S ".until",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_TIME,
     .maximum = 1e6,
     .meaning = "when it is over; never if not given"},
    SPAN_ROWS (".normal_for", "how long all is well before it is slow, again and again"),
    SPAN_ROWS (".slow_for", "how long it is slow each time"),
    {0},
};
