/*
 * Counter-based random streams; the model is in random.h.
 *
 * Invariants: no global state; the output depends on key and counter only. Cost: a handful of
 * multiplications per number.
 */
#include "base/random.h"

#include "base/assert.h"

/* source: Steele, Lea, Flood 2014, golden-ratio increment of SplitMix64 */
#define GAMMA G_GUINT64_CONSTANT (0x9e3779b97f4a7c15)

/* source: the same; the mixer is variant 13 of Stafford's finalisers */
static guint64 mix (guint64 z) {
  z = (z ^ (z >> 30)) * G_GUINT64_CONSTANT (0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * G_GUINT64_CONSTANT (0x94d049bb133111eb);
  return z ^ (z >> 31);
}

/* FNV-1a, 64 bits; source: Fowler, Noll, Vo, draft-eastlake-fnv */
static guint64 hash_text (const char *text) {
  guint64 h = G_GUINT64_CONSTANT (0xcbf29ce484222325);

  for (; *text != '\0'; text++) {
    h ^= (guint8) *text;
    h *= G_GUINT64_CONSTANT (0x100000001b3);
  }
  return h;
}

guint64 ls_random_key (guint64 seed, const char *purpose, guint64 entity) {
  guint64 key = mix (seed + GAMMA);

  key = mix (key ^ hash_text (purpose));
  return mix (key + GAMMA * (entity + 1));
}

void ls_random_init (LsRandom *random, guint64 seed, const char *purpose, guint64 entity) {
  LS_REQUIRE (random != NULL && purpose != NULL, "a random stream needs a purpose");
  random->key = ls_random_key (seed, purpose, entity);
  random->counter = 0;
}

guint64 ls_random_u64 (LsRandom *random) {
  return mix (random->key + GAMMA * ++random->counter);
}

/* 53 bits of a word as a double in [0, 1). */
static double uniform_from_bits (guint64 bits) {
  return (double) (bits >> 11) * 0x1.0p-53;
}

double ls_random_uniform (LsRandom *random) {
  return uniform_from_bits (ls_random_u64 (random));
}

/* Draws again while a word falls into the incomplete last copy of 0 .. n-1, so no value is
 * favoured; at worst half of the draws are repeated. */
guint64 ls_random_below (LsRandom *random, guint64 n) {
  guint64 excess;
  guint64 bits;

  LS_REQUIRE (n > 0, "cannot draw from nothing");
  excess = (0 - n) % n;
  do
    bits = ls_random_u64 (random);
  while (bits < excess);
  return bits % n;
}

guint64 ls_random_hash (guint64 seed, guint64 stream, guint64 index) {
  guint64 key = mix (mix (seed + GAMMA) + GAMMA * (stream + 1));

  return mix (key + GAMMA * (index + 1));
}

static void gsl_set (void *state, unsigned long seed) {
  LsRandom *random = state;

  ls_random_init (random, seed, "gsl", 0);
}

static unsigned long gsl_get (void *state) {
  return (unsigned long) ls_random_u64 (state);
}

static double gsl_get_double (void *state) {
  return ls_random_uniform (state);
}

static const gsl_rng_type gsl_type = {
    .name = "lockstep",
    .max = G_MAXULONG,
    .min = 0,
    .size = sizeof (LsRandom),
    .set = gsl_set,
    .get = gsl_get,
    .get_double = gsl_get_double,
};

const gsl_rng_type *ls_random_gsl_type (void) {
  return &gsl_type;
}

gsl_rng *ls_random_gsl_new (guint64 seed, const char *purpose, guint64 entity) {
  gsl_rng *rng = gsl_rng_alloc (&gsl_type);

  LS_REQUIRE (rng != NULL, "out of memory");
  ls_random_init (rng->state, seed, purpose, entity);
  return rng;
}
