/*
 * Random numbers from named streams.
 *
 * A stream is (seed, purpose, entity): for instance (42, "kernel-jitter", rank 17). The key of a
 * stream is a hash of the three, and its n-th output is a pure function of key and n (a counter
 * through a 64-bit mixer), so adding or dropping one stream never changes another, streams need no
 * set-up beyond one hash, and any output can be had at random with ls_random_hash().
 *
 * The generator is SplitMix64 in counter form: output n = mix (key + (n + 1) * gamma), with the
 * mixer and gamma of Steele, Lea, Flood (OOPSLA 2014, "Fast splittable pseudorandom number
 * generators"). All 64 bits of the seed count, which several GSL generators do not offer;
 * ls_random_gsl_type() makes a stream usable wherever GSL wants a gsl_rng.
 *
 * LsRandom is a plain record; copying it copies the position in the stream.
 */
#pragma once

#include <glib.h>
#include <gsl/gsl_rng.h>

G_BEGIN_DECLS

typedef struct {
  guint64 key;
  guint64 counter;
} LsRandom;

void ls_random_init (LsRandom *random, guint64 seed, const char *purpose, guint64 entity);

/* Uniform over all 64-bit integers. */
guint64 ls_random_u64 (LsRandom *random);

/* Uniform over [0, 1), a multiple of 2^-53. */
double ls_random_uniform (LsRandom *random);

/* Uniform over 0 .. n-1 without bias; n > 0. */
guint64 ls_random_below (LsRandom *random, guint64 n);

/* Output @index of the stream numbered @stream of @seed, without any state. */
guint64 ls_random_hash (guint64 seed, guint64 stream, guint64 index);

/* 64-bit key of a purpose, to be combined with ls_random_hash() in inner loops. */
guint64 ls_random_key (guint64 seed, const char *purpose, guint64 entity);

/* A GSL generator type over the same mixer. */
const gsl_rng_type *ls_random_gsl_type (void);

/* A GSL generator positioned at the start of a stream (transfer full: gsl_rng_free). */
gsl_rng *ls_random_gsl_new (guint64 seed, const char *purpose, guint64 entity);

G_END_DECLS
