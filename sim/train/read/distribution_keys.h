/* Distributions in scenarios: the rows of their keys under any prefix, and reading them.
 *
 *     workload.model.compute: {dist: shifted-exponential, shift: 1 s, mean: 1 s}
 */
#pragma once

#include "base/distribution.h"
#include "config/config.h"

#define LS_DISTRIBUTION_TIME_ROW(prefix, key, text)                                     \
  {                                                                                     \
    .path = prefix "." key, .type = LS_CONFIG_QUANTITY, .dimension = LS_DIMENSION_TIME, \
    .maximum = 1e9, .meaning = text, .when = "only with the distributions that have it" \
  }
#define LS_DISTRIBUTION_NUMBER_ROW(prefix, key, text)                                              \
  {                                                                                                \
    .path = prefix "." key, .type = LS_CONFIG_NUMBER, .flags = LS_CONFIG_POSITIVE, .maximum = 1e6, \
    .meaning = text, .when = "only with the distributions that have it"                            \
  }

/* Rows for a table of LsConfigKey; `text` says what is drawn. */
#define LS_DISTRIBUTION_ROWS(prefix, text)                                                     \
  {.path = prefix, .type = LS_CONFIG_MAP, .meaning = text},                                    \
      {.path = prefix ".dist",                                                                 \
       .type = LS_CONFIG_WORD,                                                                 \
       .flags = LS_CONFIG_REQUIRED | LS_CONFIG_DISCRIMINATOR,                                  \
       .choices_list = ls_distribution_names,                                                  \
       .meaning = "a row of `lockstep list distributions`, which says what it needs"},         \
      LS_DISTRIBUTION_TIME_ROW (prefix, "value", "the time itself (constant)"),                \
      LS_DISTRIBUTION_TIME_ROW (prefix, "mean", "mean; of shifted-exponential without shift"), \
      LS_DISTRIBUTION_TIME_ROW (prefix, "shift", "least time"),                                \
      LS_DISTRIBUTION_TIME_ROW (prefix, "low", "least time"),                                  \
      LS_DISTRIBUTION_TIME_ROW (prefix, "high", "longest time"),                               \
      LS_DISTRIBUTION_TIME_ROW (prefix, "median", "half are shorter"),                         \
      LS_DISTRIBUTION_TIME_ROW (prefix, "scale", "63.2 % are shorter (weibull)"),              \
      LS_DISTRIBUTION_TIME_ROW (prefix, "minimum", "least time (pareto)"),                     \
      LS_DISTRIBUTION_TIME_ROW (prefix, "fast", "the usual time (bimodal)"),                   \
      LS_DISTRIBUTION_TIME_ROW (prefix, "slow", "the other time (bimodal)"),                   \
      {.path = prefix ".slow_share",                                                           \
       .type = LS_CONFIG_QUANTITY,                                                             \
       .dimension = LS_DIMENSION_FRACTION,                                                     \
       .maximum = 1,                                                                           \
       .meaning = "how often it is slow (bimodal)",                                            \
       .when = "only with the distributions that have it"},                                    \
      LS_DISTRIBUTION_NUMBER_ROW (prefix, "sigma", "deviation of the logarithm (lognormal)"),  \
      LS_DISTRIBUTION_NUMBER_ROW (prefix, "shape", "shape of gamma, weibull, pareto"), {       \
    .path = prefix ".file", .type = LS_CONFIG_FILE,                                            \
    .meaning = "text file with a number of seconds a line (empirical)",                        \
    .when = "only with the distributions that have it"                                         \
  }

#define LS_DISTRIBUTION_FACTOR_ROW(prefix, key, text)                                  \
  {                                                                                    \
    .path = prefix "." key, .type = LS_CONFIG_NUMBER, .maximum = 1e6, .meaning = text, \
    .when = "only with the distributions that have it"                                 \
  }

/* Rows of a distribution of plain numbers: `noun` is what one of them is ("factor"). */
#define LS_DISTRIBUTION_PLAIN_ROWS(prefix, noun, least, most, text)                              \
  {.path = prefix, .type = LS_CONFIG_MAP, .number = "value", .meaning = text},                   \
      {.path = prefix ".dist",                                                                   \
       .type = LS_CONFIG_WORD,                                                                   \
       .flags = LS_CONFIG_DISCRIMINATOR,                                                         \
       .choices_list = ls_distribution_names,                                                    \
       .default_text = "constant",                                                               \
       .source = "a number alone is one",                                                        \
       .meaning = "a row of `lockstep list distributions`; its times are " noun "s here"},       \
      {.path = prefix ".value",                                                                  \
       .type = LS_CONFIG_NUMBER,                                                                 \
       .minimum = least,                                                                         \
       .maximum = most,                                                                          \
       .meaning = "the " noun " itself (constant)",                                              \
       .when = "only with the distributions that have it"},                                      \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "mean", "mean; of shifted-exponential without shift"), \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "shift", "least " noun),                               \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "low", "least " noun),                                 \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "high", "largest " noun),                              \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "median", "half are smaller"),                         \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "scale", "63.2 % are smaller (weibull)"),              \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "minimum", "least " noun " (pareto)"),                 \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "fast", "the usual " noun " (bimodal)"),               \
      LS_DISTRIBUTION_FACTOR_ROW (prefix, "slow", "the other " noun " (bimodal)"),               \
      {.path = prefix ".slow_share",                                                             \
       .type = LS_CONFIG_QUANTITY,                                                               \
       .dimension = LS_DIMENSION_FRACTION,                                                       \
       .maximum = 1,                                                                             \
       .meaning = "how often it is the other (bimodal)",                                         \
       .when = "only with the distributions that have it"},                                      \
      LS_DISTRIBUTION_NUMBER_ROW (prefix, "sigma", "deviation of the logarithm (lognormal)"),    \
      LS_DISTRIBUTION_NUMBER_ROW (prefix, "shape", "shape of gamma, weibull, pareto"), {         \
    .path = prefix ".file", .type = LS_CONFIG_FILE,                                              \
    .meaning = "text file with a " noun " a line (empirical)",                                   \
    .when = "only with the distributions that have it"                                           \
  }

/* Factors, which have no unit: `time_factor: 1.5` is {value: 1.5}, and {dist: lognormal, median: 1,
 * sigma: 0.1} is drawn. `least` bounds the constant. */
#define LS_DISTRIBUTION_FACTOR_ROWS(prefix, least, text) \
  LS_DISTRIBUTION_PLAIN_ROWS (prefix, "factor", least, 1000, text)
/* Counts (tokens), read as factors are. */
#define LS_DISTRIBUTION_COUNT_ROWS(prefix, text) \
  LS_DISTRIBUTION_PLAIN_ROWS (prefix, "count", 1, 1e6, text)

/* Reads what stands at `path`; FALSE after adding faults. The distribution is cleared by the caller. */
gboolean ls_distribution_read (LsConfig *config, LsConfigErrors *errors, const char *path,
                               LsDistribution *distribution);
/* The same for rows of LS_DISTRIBUTION_FACTOR_ROWS: values are numbers. */
gboolean ls_distribution_read_factor (LsConfig *config, LsConfigErrors *errors, const char *path,
                                      LsDistribution *distribution);
