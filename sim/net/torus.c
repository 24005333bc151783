/* Tori: bidirectional rings along every dimension at once.
 *
 * All-gather on d dimensions: the bytes are cut into d lanes; lane j walks the dimensions in the order j,
 * j + 1, ..., so that in every stage each lane has a dimension of its own and all links are busy. Along a
 * dimension of size s a block travels both ways: floor (s / 2) rounds; on a line, without wrap, s - 1. So
 * an all-gather takes the sum over dimensions of floor (s / 2) rounds and N / (2 d) over each link.
 * All-to-all: every message along its shortest path, at once. source: Google, How to Scale Your Model;
 * Sack, Gropp, "Collective algorithms for multi-ported torus networks", ACM TOPC 1 (2015). */
#include "base/assert.h"
#include "net/algorithms.h"

typedef struct {
  const LsGroupShape *shape;
  LsTorusPlace place;                        /* of the first member; sizes of the whole torus */
  guint dimensions[LS_MAX_TORUS_DIMENSIONS]; /* those of more than one device */
  guint n_dimensions;
  guint *member; /* by device of the torus */
} Torus;

static gboolean torus_of (const LsGroupShape *shape, Torus *torus) {
  guint devices = 1;
  *torus = (Torus){.shape = shape};
  if (shape->n_nodes != 1 || shape->n < 2 ||
      !ls_topology_torus (shape->topology, shape->gpus[0], &torus->place))
    return FALSE;
  for (guint d = 0; d < torus->place.n_dimensions; d++) {
    devices *= torus->place.size[d];
    if (torus->place.size[d] > 1)
      torus->dimensions[torus->n_dimensions++] = d;
  }
  return devices == shape->n;
}

/* The whole torus of a node, no part of it. */
gboolean ls_fits_torus (const LsGroupShape *shape, LsCollectiveOp op) {
  Torus torus;
  (void) op;
  return torus_of (shape, &torus);
}

static guint dimensions_of (const LsGroupShape *shape) {
  Torus torus;
  LS_REQUIRE (torus_of (shape, &torus), "no torus of %u", shape->n);
  return torus.n_dimensions;
}

/* Halves of every member's block in every lane; of an all-to-all blocks. */
guint ls_parts_torus (const LsGroupShape *shape, LsCollectiveOp op) {
  return op == LS_COLLECTIVE_ALL_TO_ALL ? shape->n : 2 * dimensions_of (shape) * shape->n;
}

static guint stride_of (const Torus *torus, guint dimension) {
  guint stride = 1;
  for (guint d = torus->place.n_dimensions - 1; d > dimension; d--)
    stride *= torus->place.size[d];
  return stride;
}

/* One device further along a dimension; itself at the edge of a line. */
static guint neighbour (const Torus *torus, guint device, guint dimension, gboolean up) {
  guint size = torus->place.size[dimension], stride = stride_of (torus, dimension);
  guint at = device / stride % size, next = up ? (at + 1) % size : (at + size - 1) % size;
  if (!torus->place.wrap[dimension] && (up ? at + 1 == size : at == 0))
    return device;
  return device + next * stride - at * stride;
}

/* Round `r` of stage `stage`: every lane sends what it has gathered so far, `held` halves per member, both
 * ways along its dimension; in the last round of an even ring half of it each way. */
static void write_round (const Torus *torus, LsSchedule *schedule, guint stage, guint r,
                         const guint *held) {
  guint n = torus->shape->n, lanes = torus->n_dimensions;
  ls_schedule_round (schedule, LS_WAY_PATH, 1);
  for (guint lane = 0; lane < lanes; lane++) {
    guint dimension = torus->dimensions[(lane + stage) % lanes];
    guint size = torus->place.size[dimension], stride = stride_of (torus, dimension);
    gboolean wrap = torus->place.wrap[dimension];
    for (guint device = 0; device < n; device++)
      for (guint up = 0; up < 2; up++) {
        guint to = neighbour (torus, device, dimension, up == 1), at = device / stride % size;
        gboolean last = wrap && 2 * r == size - 2;
        /* a line passes on what has come from the other side; a ring half of its circumference */
        gboolean sends = wrap ? 2 * r < size - 1 : up ? at >= r : size - 1 - at >= r;
        if (to == device || !sends)
          continue;
        ls_schedule_move (schedule, torus->member[device], torus->member[to],
                          lane * 2 * n + up * (last ? held[lane] / 2 : 0),
                          last ? held[lane] / 2 : held[lane], 0);
      }
  }
}

static void write_gather (const Torus *torus, LsSchedule *schedule) {
  guint held[LS_MAX_TORUS_DIMENSIONS], lanes = torus->n_dimensions;
  for (guint lane = 0; lane < lanes; lane++)
    held[lane] = 2;
  ls_schedule_segment (schedule, TRUE);
  for (guint stage = 0; stage < lanes; stage++) {
    guint rounds = 0;
    for (guint lane = 0; lane < lanes; lane++) {
      guint d = torus->dimensions[(lane + stage) % lanes], size = torus->place.size[d];
      rounds = MAX (rounds, torus->place.wrap[d] ? size / 2 : size - 1);
    }
    for (guint r = 0; r < rounds; r++)
      write_round (torus, schedule, stage, r, held);
    for (guint lane = 0; lane < lanes; lane++)
      held[lane] *= torus->place.size[torus->dimensions[(lane + stage) % lanes]];
  }
}

gboolean ls_write_torus (const LsGroupShape *shape, LsCollectiveOp op, LsSchedule *schedule) {
  Torus torus;
  LS_REQUIRE (torus_of (shape, &torus), "no torus of %u", shape->n);
  if (op == LS_COLLECTIVE_ALL_TO_ALL) {
    ls_schedule_together (schedule, FALSE);
    ls_schedule_round (schedule, LS_WAY_PATH, 1);
    for (guint r = 1; r < shape->n; r++)
      for (guint i = 0; i < shape->n; i++)
        ls_schedule_move (schedule, i, (i + r) % shape->n, (i + r) % shape->n, 1, 0);
    return TRUE;
  }
  if (op != LS_COLLECTIVE_ALL_GATHER)
    return FALSE;
  torus.member = g_new (guint, shape->n);
  for (guint i = 0; i < shape->n; i++)
    torus.member[shape->gpus[i] - torus.place.first_gpu] = i;
  write_gather (&torus, schedule);
  g_free (torus.member);
  return TRUE;
}
