/* Seats of nodes; see seats.h. */
#include "faults/seats.h"

#include "base/assert.h"

#define NONE G_MAXUINT

struct LsSeats {
  guint n_nodes, replicas, nodes_per_replica, used;
  guint n_up;
  guint *holds;   /* by node: failed components that keep it down */
  guint *seat_of; /* by node; NONE: not seated */
  guint *node_at; /* by seat; NONE: vacant */
  GQueue *free;   /* nodes that are up and not seated; the longest free first */
  GArray *vacant; /* guint: seats of running replicas without a node, in the order of loss */
};

LsSeats *ls_seats_new (guint n_nodes, guint replicas, guint nodes_per_replica) {
  LsSeats *seats = g_new0 (LsSeats, 1);
  guint n_seats = replicas * nodes_per_replica;

  LS_REQUIRE (n_seats > 0 && n_seats <= n_nodes, "%u seats for %u nodes", n_seats, n_nodes);
  seats->n_nodes = seats->n_up = n_nodes;
  seats->replicas = seats->used = replicas;
  seats->nodes_per_replica = nodes_per_replica;
  seats->holds = g_new0 (guint, n_nodes);
  seats->seat_of = g_new (guint, n_nodes);
  seats->node_at = g_new (guint, n_seats);
  seats->free = g_queue_new ();
  seats->vacant = g_array_new (FALSE, FALSE, sizeof (guint));
  for (guint node = 0; node < n_nodes; node++) {
    seats->seat_of[node] = node < n_seats ? node : NONE;
    if (node < n_seats)
      seats->node_at[node] = node;
    else
      g_queue_push_tail (seats->free, GUINT_TO_POINTER (node));
  }
  return seats;
}

void ls_seats_free (LsSeats *seats) {
  if (seats == NULL)
    return;
  g_free (seats->holds);
  g_free (seats->seat_of);
  g_free (seats->node_at);
  g_queue_free (seats->free);
  g_array_unref (seats->vacant);
  g_free (seats);
}

gboolean ls_seats_down (LsSeats *seats, guint node) {
  LS_REQUIRE (node < seats->n_nodes, "node %u", node);
  if (seats->holds[node]++ > 0)
    return FALSE;
  seats->n_up--;
  guint seat = seats->seat_of[node];
  if (seat == NONE) {
    g_queue_remove (seats->free, GUINT_TO_POINTER (node));
    return FALSE;
  }
  seats->seat_of[node] = NONE;
  seats->node_at[seat] = NONE;
  g_array_append_val (seats->vacant, seat);
  return TRUE;
}

void ls_seats_up (LsSeats *seats, guint node) {
  LS_REQUIRE (node < seats->n_nodes && seats->holds[node] > 0, "node %u is up", node);
  if (--seats->holds[node] > 0)
    return;
  seats->n_up++;
  g_queue_push_tail (seats->free, GUINT_TO_POINTER (node));
}

guint ls_seats_possible (const LsSeats *seats) {
  return MIN (seats->replicas, seats->n_up / seats->nodes_per_replica);
}

static void seat (LsSeats *seats, guint number) {
  LS_REQUIRE (!g_queue_is_empty (seats->free), "no free node for seat %u", number);
  guint node = GPOINTER_TO_UINT (g_queue_pop_head (seats->free));
  seats->node_at[number] = node;
  seats->seat_of[node] = number;
}

/* Nodes of replicas that are given up are free. */
static void shrink (LsSeats *seats, guint replicas) {
  for (guint number = replicas * seats->nodes_per_replica;
       number < seats->used * seats->nodes_per_replica; number++) {
    guint node = seats->node_at[number];
    if (node == NONE)
      continue;
    seats->node_at[number] = NONE;
    seats->seat_of[node] = NONE;
    g_queue_push_tail (seats->free, GUINT_TO_POINTER (node));
  }
}

gboolean ls_seats_fill (LsSeats *seats, guint replicas) {
  guint target = replicas * seats->nodes_per_replica;
  guint before = seats->used * seats->nodes_per_replica;
  gboolean anew = target > before;

  LS_REQUIRE (replicas > 0 && replicas <= ls_seats_possible (seats), "%u replicas", replicas);
  shrink (seats, replicas);
  for (guint i = 0; i < seats->vacant->len; i++) {
    guint number = g_array_index (seats->vacant, guint, i);
    if (number >= target)
      continue;
    seat (seats, number);
    anew = TRUE;
  }
  for (guint number = before; number < target; number++)
    seat (seats, number);
  g_array_set_size (seats->vacant, 0);
  seats->used = replicas;
  return anew;
}

guint ls_seats_used (const LsSeats *seats) {
  return seats->used;
}

guint ls_seats_idle (const LsSeats *seats) {
  return g_queue_get_length (seats->free);
}

guint ls_seats_replica (const LsSeats *seats, guint node) {
  guint number = seats->seat_of[node];
  return number == NONE ? NONE : number / seats->nodes_per_replica;
}
