/*
 * Distributions of positive times, by name: what studies draw step times, slow-downs, lifetimes and
 * repairs from.
 *
 * Model:      a kind is a constant record: names and ranges of its parameters, density or law in
 *             words, mean in closed form where it exists, and how to draw. A distribution is a kind
 *             with values.
 * Invariants: draws are >= 0 and finite. The n-th draw of a stream is the n-th call: some kinds take a
 *             varying number of random words per draw, none depends on anything but its stream.
 * Cost:       one logarithm per exponential draw; see the GSL manual for the others.
 *
 * Ownership: an LsDistribution owns its samples; kinds are static.
 */
#pragma once

#include <glib.h>
#include <gsl/gsl_rng.h>

G_BEGIN_DECLS

#define LS_DISTRIBUTION_PARAMETERS 3

/* What a parameter is: a time has a unit and scales the distribution, a number is its shape, a share
 * lies in 0..1. */
typedef enum { LS_PARAMETER_TIME, LS_PARAMETER_NUMBER, LS_PARAMETER_SHARE } LsParameterKind;

typedef struct {
  const char *name; /* key in a scenario; NULL: none */
  LsParameterKind kind;
  gboolean positive; /* else >= 0 */
  const char *meaning;
} LsDistributionParameter;

typedef struct _LsDistributionKind LsDistributionKind;

typedef struct {
  const LsDistributionKind *kind;
  double values[LS_DISTRIBUTION_PARAMETERS]; /* times in seconds */
  double *samples;                           /* of an empirical one, ascending */
  guint n_samples;
} LsDistribution;

struct _LsDistributionKind {
  const char *name;
  LsDistributionParameter parameters[LS_DISTRIBUTION_PARAMETERS];
  gboolean from_file; /* takes samples in place of parameters */
  const char *law;    /* what is drawn, in symbols */
  const char *use;    /* what it is good for, or who used it */
  const char *source;
  double (*mean) (const LsDistribution *distribution); /* INFINITY: has none */
  double (*draw) (const LsDistribution *distribution, gsl_rng *rng);
  /* NULL, or what contradicts what (transfer full); ranges of single values are checked before. */
  char *(*check) (const LsDistribution *distribution);
};

guint ls_distribution_kind_count (void);
const LsDistributionKind *ls_distribution_kind_get (guint i);
const LsDistributionKind *ls_distribution_kind_find (const char *name); /* NULL: none */
/* Names of all, ended by NULL. */
const char *const *ls_distribution_names (void);
/* Number of a kind's parameter, -1: it has none of that name. */
gint ls_distribution_parameter (const LsDistributionKind *kind, const char *name);

/* Values in the order of the kind's parameters; no samples. Asserts that they are legal. */
LsDistribution ls_distribution (const char *name, double a, double b, double c);
/* Copies and sorts the samples (> 0 of them, all finite and >= 0). */
LsDistribution ls_distribution_empirical (const double *samples, guint n);
LsDistribution ls_distribution_copy (const LsDistribution *distribution);
void ls_distribution_clear (LsDistribution *distribution);
/* NULL when the values are legal; else why not (transfer full). */
char *ls_distribution_fault (const LsDistribution *distribution);

double ls_distribution_mean (const LsDistribution *distribution);
double ls_distribution_draw (const LsDistribution *distribution, gsl_rng *rng);

G_END_DECLS
