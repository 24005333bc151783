/* The schema of `learn`: one row per key. Defaults are those of the publication or of the framework
 * that .source names, or the plainest choice. */
#include "learn/settings.h"

#define L "learn."
#define PROBLEM L "problem."
#define DATA L "data."
#define NAME_2(id, name, ...) name,

static const char *const problem_kinds[] = {"quadratic", "linear", "logistic", "softmax",
                                            "mlp",       "conv",   NULL};
static const char *const activations[] = {LS_ACTIVATIONS (NAME_2) NULL};
static const char *const data_kinds[] = {LS_DATA_KINDS (NAME_2) NULL};
static const char *const presets[] = {"digits", NULL};
static const char *const generators[] = {LS_GENERATORS (NAME_2) NULL};
static const char *const scalings[] = {"auto", LS_SCALINGS (NAME_2) NULL};
static const char *const partitions[] = {LS_PARTITIONS (NAME_2) NULL};
static const char *const samplings[] = {LS_SAMPLINGS (NAME_2) NULL};
static const char *const optimizers[] = {LS_LEARN_OPTIMIZERS (NAME_2) NULL};
static const char *const rates[] = {LS_RATE_SCHEDULES (NAME_2) NULL};
static const char *const stale_rates[] = {LS_STALE_RATES (NAME_2) NULL};
static const char *const compensations[] = {LS_COMPENSATIONS (NAME_2) NULL};
static const char *const corrections[] = {LS_MOMENTUM_CORRECTIONS (NAME_2) NULL};
static const char *const clips[] = {"update", "worker", NULL};
static const char *const averagings[] = {LS_AVERAGINGS (NAME_2) NULL};
static const char *const pulls[] = {LS_PULLS (NAME_2) NULL};
static const char *const numbers[] = {LS_NUMBERS (NAME_2) NULL};
static const char *const loss_scales[] = {LS_LOSS_SCALES (NAME_2) NULL};
static const char *const auto_word[] = {"auto", NULL};
static const char *const all_word[] = {"all", NULL};

#define SECTION(key, short_form, text) \
  { .path = key, .type = LS_CONFIG_MAP, .word = short_form, .meaning = text }
#define KIND(key, words, fallback, origin, text)                                     \
  {                                                                                  \
    .path = key, .type = LS_CONFIG_WORD, .choices = words, .default_text = fallback, \
    .flags = LS_CONFIG_DISCRIMINATOR, .source = origin, .meaning = text              \
  }
#define WORD(key, words, fallback, origin, text)                                     \
  {                                                                                  \
    .path = key, .type = LS_CONFIG_WORD, .choices = words, .default_text = fallback, \
    .source = origin, .meaning = text                                                \
  }
#define COUNT(key, least, most, fallback, origin, text)                        \
  {                                                                            \
    .path = key, .type = LS_CONFIG_INTEGER, .minimum = least, .maximum = most, \
    .default_text = fallback, .source = origin, .meaning = text                \
  }
#define REAL(key, flag, most, fallback, origin, text)                      \
  {                                                                        \
    .path = key, .type = LS_CONFIG_NUMBER, .flags = flag, .maximum = most, \
    .default_text = fallback, .source = origin, .meaning = text            \
  }

#define OPTIMIZER(base, kind_default, origin)                                                   \
  KIND (base "kind", optimizers, kind_default, origin, "what a step does with a gradient"),     \
      REAL (base "momentum", 0, 1, "0.9", "common practice", "mu of momentum and nesterov"),    \
      REAL (base "beta1", 0, 1, "0.9", "Kingma, Ba 2015", "decay of Adam's mean of gradients"), \
      REAL (base "beta2", 0, 1, "0.999", "Kingma, Ba 2015", "decay of Adam's mean of squares"), \
      REAL (base "epsilon", LS_CONFIG_POSITIVE, 0, "1e-8", "Kingma, Ba 2015",                   \
            "keeps Adam's quotient finite"),                                                    \
      REAL (base "weight_decay", 0, 0, "0", "none",                                             \
            "pull of all parameters to 0 (adamw: beside the gradient, else in it)")

const LsConfigKey ls_learn_keys[] = {
    SECTION ("learn", NULL, "a real problem that is trained in the order the cluster would give"),

    /* The problem. */
    {.path = L "problem",
     .type = LS_CONFIG_MAP,
     .word = "kind",
     .flags = LS_CONFIG_REQUIRED,
     .meaning = "what is learned; all that is arithmetic and never timing stands under learn"},
    KIND (PROBLEM "kind", problem_kinds, "softmax", "Dutta et al. 2018 use it",
          "quadratic with a spectrum, regressions, a multi-layer perceptron, a convolutional net"),
    {.path = PROBLEM "hidden",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 100000,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST,
     .meaning = "widths of hidden layers (mlp; [64] if not given), channels of convolutions (conv; "
                "[8, 16])",
     .when = "only with problem.kind mlp or conv"},
    WORD (PROBLEM "activation", activations, "relu", "common practice",
          "what follows each hidden layer"),
    COUNT (PROBLEM "kernel", 1, 31, "3", "common practice", "side of a convolution, an odd number"),
    COUNT (PROBLEM "pool", 1, 16, "2", "common practice",
           "side of the max pooling after each convolution; 1: none"),
    {.path = PROBLEM "curvatures",
     .type = LS_CONFIG_NUMBER,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST | LS_CONFIG_POSITIVE,
     .meaning = "eigenvalues of the Hessian, one by one, instead of dimension, condition and "
                "curvature",
     .when = "only with problem.kind quadratic"},
    COUNT (PROBLEM "dimension", 1, 10000000, "1", "the textbook case", "number of parameters"),
    {.path = PROBLEM "condition",
     .type = LS_CONFIG_NUMBER,
     .minimum = 1,
     .default_text = "1",
     .source = "a round bowl",
     .meaning = "largest / smallest eigenvalue; those between are spaced evenly in the logarithm"},
    REAL (PROBLEM "curvature", LS_CONFIG_POSITIVE, 0, "1", "the textbook case",
          "largest eigenvalue"),
    REAL (PROBLEM "noise", 0, 0, "1", "the textbook case",
          "deviation of each coordinate of the gradient of one sample"),
    REAL (PROBLEM "start", LS_CONFIG_SIGNED, 0, "1", "the textbook case",
          "value of every parameter at first"),
    REAL (PROBLEM "optimum_spread", 0, 0, "0", "workers that are alike",
          "deviation of the workers' own optima"),
    REAL (PROBLEM "curvature_spread", 0, 0, "0", "workers that are alike",
          "workers' curvatures are those above x exp (spread x normal)"),
    REAL (L "l2", 0, 0, "0", "none",
          "adds l2/2 times the squared weights (biases left out) to the loss"),

    /* The data. */
    SECTION (L "data", "preset", "rows with a class or a target each"),
    KIND (DATA "kind", data_kinds, "preset", "the quickest start", "where the rows come from"),
    {.path = DATA "preset",
     .type = LS_CONFIG_WORD,
     .choices = presets,
     .flags = LS_CONFIG_DISCRIMINATOR,
     .default_text = "digits",
     .source = "UCI handwritten digits, 1,797 pictures of 8 x 8, CC BY 4.0",
     .meaning = "data set that Lockstep knows; `tools/get-digits` fetches digits",
     .when = "only with data.kind preset"},
    {.path = DATA "file",
     .type = LS_CONFIG_FILE,
     .meaning = "rows (csv, libsvm) or pictures (idx), plain or gzip; or where a preset lies"},
    {.path = DATA "labels",
     .type = LS_CONFIG_FILE,
     .meaning = "the labels of the pictures",
     .when = "only with data.kind idx"},
    {.path = DATA "header",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "true",
     .source = "RFC 4180",
     .meaning = "the first line names the columns",
     .when = "only with data.kind csv"},
    {.path = DATA "label",
     .type = LS_CONFIG_STRING,
     .meaning =
         "column of labels (numbers or words) or targets, by name or by number from 0; the last "
         "if not given",
     .when = "only with data.kind csv"},
    COUNT (DATA "features", 1, 10000000, NULL, NULL,
           "number of features (libsvm: the largest index if not given; synthetic: 10; bars: side "
           "of the picture)"),
    COUNT (DATA "channels", 1, 1000, "1", "grey pictures", "channels of a picture, last in a row"),
    COUNT (DATA "height", 1, 100000, NULL, NULL, "rows of a picture, for problem.kind conv"),
    COUNT (DATA "width", 1, 100000, NULL, NULL, "columns of a picture, for problem.kind conv"),
    WORD (DATA "generator", generators, "blobs", "choice", "what synthetic data looks like"),
    COUNT (DATA "rows", 2, 10000000, "2000", "as many as digits, nearly", "rows to make"),
    COUNT (DATA "classes", 2, 1000, "10", "as digits", "classes of blobs"),
    REAL (DATA "noise", 0, 0, "1", "choice", "deviation of what is added to synthetic data"),
    {.path = DATA "condition",
     .type = LS_CONFIG_NUMBER,
     .minimum = 1,
     .default_text = "1",
     .source = "round",
     .meaning = "largest / smallest variance of the features (linear, logistic)"},
    COUNT (DATA "seed", 0, 0, "1", "one data set for all runs", "what synthetic data starts from"),
    {.path = DATA "test",
     .type = LS_CONFIG_QUANTITY,
     .dimension = LS_DIMENSION_FRACTION,
     .maximum = 0.9,
     .default_text = "20 %",
     .source = "common practice",
     .meaning = "share of the rows that is kept for tests, the same rows in every run"},
    WORD (DATA "scale", scalings, "auto", "pixels between 0 and 1",
          "of features, by the training rows; auto: maximum for digits and idx, else none"),
    SECTION (DATA "partition", "kind", "which rows a worker draws from"),
    KIND (DATA "partition.kind", partitions, "iid", "data-parallel training", "how rows are dealt"),
    REAL (DATA "partition.alpha", LS_CONFIG_POSITIVE, 0, "1", "Hsu et al. 2019",
          "evenness of dirichlet; small: each worker has few classes"),
    WORD (DATA "sampling", samplings, "replacement", "the theory of SGD",
          "how a worker fills its mini-batches"),
    {.path = L "batch",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 10000000,
     .choices = auto_word,
     .default_text = "auto",
     .source = "what the timing says",
     .meaning = "rows of a mini-batch; auto: the samples that the worker's step had"},

    /* The optimiser and what it does about delays. */
    SECTION (L "optimizer", "kind", "of the server, or of the workers where they step themselves"),
    OPTIMIZER (L "optimizer.", "sgd", "the theory of delays"),
    REAL (L "optimizer.lr", LS_CONFIG_POSITIVE, 0, NULL, NULL,
          "learning rate; 0.1 if not given (adam and adamw: 0.001)"),
    SECTION (L "outer", "kind", "optimizer of the server under diloco"),
    OPTIMIZER (L "outer.", "nesterov", "DiLoCo (Douillard et al. 2023)"),
    REAL (L "outer.lr", LS_CONFIG_POSITIVE, 0, "0.7", "DiLoCo (Douillard et al. 2023)",
          "learning rate on the mean change of the workers"),
    SECTION (L "schedule", "kind", "how the learning rate changes with the steps done"),
    KIND (L "schedule.kind", rates, "constant", "the theory of delays", "shape of the schedule"),
    COUNT (L "schedule.warmup", 0, 0, "0", "none",
           "steps over which the learning rate first grows in a line"),
    COUNT (L "schedule.every", 1, 0, "1000", "choice", "period of step and inverse-sqrt"),
    COUNT (L "schedule.updates", 1, 0, "10000", "choice", "length of cosine, linear and ramp"),
    REAL (L "schedule.factor", LS_CONFIG_POSITIVE, 1, "0.1", "common practice",
          "what step multiplies by"),
    REAL (L "schedule.floor", 0, 1, "0", "common practice",
          "where cosine and linear end, where ramp starts"),
    SECTION (L "lr_by_staleness", "kind", "weight of a gradient by its staleness"),
    KIND (L "lr_by_staleness.kind", stale_rates, "none", "plain SGD", "rule of the weight"),
    REAL (L "lr_by_staleness.rate", LS_CONFIG_POSITIVE, 0, "0.1", "choice",
          "decay per version of exponential"),
    REAL (L "lr_by_staleness.c", LS_CONFIG_POSITIVE, 0, "0.005", "Dutta et al. 2018, figure 9",
          "c of distance, in squared parameters x learning rate"),
    SECTION (L "delay_compensation", "kind", "DC-ASGD (Zheng et al. 2017)"),
    KIND (L "delay_compensation.kind", compensations, "none", "plain SGD",
          "first-order correction of a gradient for what the parameters moved"),
    REAL (L "delay_compensation.lambda", 0, 0, "0.04", "Zheng et al. 2017, section 6",
          "strength; adaptive: 2 in their experiments"),
    REAL (L "delay_compensation.decay", 0, 1, "0.95", "Zheng et al. 2017, section 6",
          "of adaptive's mean of squared gradients"),
    WORD (L "momentum_correction", corrections, "none", "plain momentum",
          "of the explicit momentum"),
    {.path = L "clip",
     .type = LS_CONFIG_MAP,
     .number = "norm",
     .meaning = "gradients longer than norm are shortened to it"},
    REAL (L "clip.norm", LS_CONFIG_POSITIVE, 0, NULL, NULL, "largest length; none if not given"),
    WORD (L "clip.at", clips, "update", "what frameworks do",
          "the mean gradient of an update (per shard) or each worker's before it is sent"),
    SECTION (L "averaging", "kind", "parameters that are evaluated: a mean over time"),
    KIND (L "averaging.kind", averagings, "none", "the last ones", "kind of mean"),
    REAL (L "averaging.decay", 0, 1, "0.999", "common practice", "of ema"),
    COUNT (L "averaging.start", 0, 0, "0", "from the start", "first update of swa"),
    COUNT (L "averaging.every", 1, 0, "1", "all", "updates between parameters that swa takes"),
    SECTION (L "elastic", NULL, "pull between workers and server under easgd"),
    REAL (L "elastic.alpha", LS_CONFIG_POSITIVE, 1, NULL, NULL,
          "share of the distance; beta / workers if not given"),
    REAL (L "elastic.beta", LS_CONFIG_POSITIVE, 1, "0.9", "Zhang et al. 2015 (EASGD)",
          "alpha x workers, where alpha is not given"),
    WORD (L "elastic.pull", pulls, "before-step", "Zhang et al. 2015 (EASGD)",
          "which copy of the worker is pulled"),

    /* Formats. */
    SECTION (L "precision", "format", "number formats, for real"),
    WORD (L "precision.format", numbers, "fp64", "delays are the subject, not rounding",
          "of parameters, activations and gradients where they are not given by themselves"),
    WORD (L "precision.parameters", numbers, NULL, NULL, "of the parameters that a worker uses"),
    WORD (L "precision.activations", numbers, NULL, NULL, "of what layers hand on"),
    WORD (L "precision.gradients", numbers, NULL, NULL,
          "of gradients, in the backward pass and on the wire"),
    {.path = L "precision.master",
     .type = LS_CONFIG_BOOLEAN,
     .default_text = "true",
     .source = "Micikevicius et al. 2018",
     .meaning = "the optimizer keeps fp32 parameters; false: parameters are rounded at every step"},
    SECTION (L "loss_scaling", "kind", "factor on the loss against gradients that round to 0"),
    KIND (L "loss_scaling.kind", loss_scales, "none", "none", "who sets the factor"),
    REAL (L "loss_scaling.initial", LS_CONFIG_POSITIVE, 0, "65536", "PyTorch GradScaler",
          "factor at first"),
    REAL (L "loss_scaling.growth", LS_CONFIG_POSITIVE, 0, "2", "PyTorch GradScaler",
          "what it grows by"),
    REAL (L "loss_scaling.backoff", LS_CONFIG_POSITIVE, 1, "0.5", "PyTorch GradScaler",
          "what it shrinks by after an infinite gradient"),
    COUNT (L "loss_scaling.interval", 1, 0, "2000", "PyTorch GradScaler",
           "good steps in a row until it grows"),

    /* What is looked at. */
    {.path = L "evaluate", .type = LS_CONFIG_MAP, .number = "every", .meaning = "measurements"},
    COUNT (L "evaluate.every", 1, 0, "100", "choice", "updates between them"),
    {.path = L "evaluate.rows",
     .type = LS_CONFIG_INTEGER,
     .minimum = 1,
     .maximum = 10000000,
     .choices = all_word,
     .default_text = "all",
     .source = "exact",
     .meaning = "training rows that loss and gradient norm are taken over"},
    SECTION (L "target", NULL, "what time and updates are measured to"),
    REAL (L "target.loss", 0, 0, NULL, NULL, "training loss to reach"),
    REAL (L "target.accuracy", LS_CONFIG_POSITIVE, 1, NULL, NULL, "test accuracy to reach"),
    REAL (L "diverged_above", LS_CONFIG_POSITIVE, 0, "1000", "choice",
          "a loss of more than this many times the first one is called diverged"),
    COUNT (L "replications", 1, 10000, "1", "one run",
           "runs with seeds seed, seed + 1, ... of start and mini-batches, on the same timing"),
    {.path = L "lr_grid",
     .type = LS_CONFIG_NUMBER,
     .flags = LS_CONFIG_LIST | LS_CONFIG_ONE_OR_LIST | LS_CONFIG_POSITIVE,
     .meaning = "learning rates to try; the best one is shown, and all are in the table"},
    {0},
};
