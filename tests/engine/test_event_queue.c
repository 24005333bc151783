/* Event queue: total order, ties both ways, cancel and reschedule against a plain sorted list. */
#include "engine/event_queue.h"

#include "bed.h"

static LsEvent numbered (guint32 a) {
  return (LsEvent){1, a, 0};
}

static guint32 pop (LsEventQueue *queue) {
  guint32 slot;
  return ls_event_queue_pop (queue, &slot).a;
}

START_TEST (orders_by_time_priority_sequence) {
  g_autoptr (LsEventQueue) queue = ls_event_queue_new ();
  ls_event_queue_push (queue, 20, 1, numbered (4));
  ls_event_queue_push (queue, 10, 2, numbered (2));
  ls_event_queue_push (queue, 10, 0, numbered (0));
  ls_event_queue_push (queue, 10, 2, numbered (3));
  ls_event_queue_push (queue, 10, 1, numbered (1));
  for (guint32 i = 0; i < 5; i++) {
    ck_assert_int_eq (ls_event_queue_peek_time (queue), i < 4 ? 10 : 20);
    ck_assert_uint_eq (pop (queue), i);
  }
  ck_assert (ls_event_queue_is_empty (queue));
}
END_TEST

START_TEST (equal_times_are_first_in_first_out) {
  /* Both ways: pushed a then b pops a then b; pushed b then a pops b then a. */
  for (guint32 swap = 0; swap < 2; swap++) {
    g_autoptr (LsEventQueue) queue = ls_event_queue_new ();
    ls_event_queue_push (queue, 5, 1, numbered (swap));
    ls_event_queue_push (queue, 5, 1, numbered (1 - swap));
    ck_assert_uint_eq (pop (queue), swap);
    ck_assert_uint_eq (pop (queue), 1 - swap);
  }
}
END_TEST

START_TEST (remove_from_the_middle_moves_both_ways) {
  /* The heap [1 10 2 11 12 3 4] minus 11: an entry put in a hole may have to rise. */
  const gint64 times[] = {1, 10, 2, 11, 12, 3, 4};
  g_autoptr (LsEventQueue) queue = ls_event_queue_new ();
  guint32 slots[7];
  for (guint32 i = 0; i < 7; i++)
    slots[i] = ls_event_queue_push (queue, times[i], 1, numbered (i));
  ls_event_queue_cancel (queue, slots[3]);
  ls_event_queue_check (queue);
  const gint64 expected[] = {1, 2, 3, 4, 10, 12};
  for (guint32 i = 0; i < 6; i++) {
    ck_assert_int_eq (ls_event_queue_peek_time (queue), expected[i]);
    pop (queue);
  }
}
END_TEST

typedef struct {
  gint64 time;
  guint priority;
  guint64 sequence;
  guint32 id, slot;
  gboolean live;
} Shadow;

static Shadow *least_shadow (Shadow *shadows, guint n) {
  Shadow *least = NULL;
  for (guint i = 0; i < n; i++) {
    Shadow *s = &shadows[i];
    if (s->live && (!least || s->time < least->time ||
                    (s->time == least->time &&
                     (s->priority < least->priority ||
                      (s->priority == least->priority && s->sequence < least->sequence)))))
      least = s;
  }
  return least;
}

START_TEST (agrees_with_a_sorted_list) {
  enum { N = 60 };
  Shadow shadows[N] = {0};
  LsRandom random;
  ls_random_init (&random, 11, "test/queue", (guint64) _i);
  g_autoptr (LsEventQueue) queue = ls_event_queue_new ();
  guint64 sequence = 0;
  for (guint step = 0; step < bed_scaled (20000); step++) {
    guint32 i = (guint32) (ls_random_u64 (&random) % N);
    gint64 time = (gint64) (ls_random_u64 (&random) % 50);
    guint what = (guint) (ls_random_u64 (&random) % 4);
    Shadow *s = &shadows[i];
    if (!s->live) {
      guint priority = (guint) (ls_random_u64 (&random) % 4);
      *s = (Shadow){
          time, priority, sequence++, i, ls_event_queue_push (queue, time, priority, numbered (i)),
          TRUE};
    } else if (what == 0) {
      ls_event_queue_cancel (queue, s->slot);
      s->live = FALSE;
    } else if (what == 1) {
      ls_event_queue_reschedule (queue, s->slot, time);
      s->time = time;
      s->sequence = sequence++;
    } else {
      Shadow *least = least_shadow (shadows, N);
      ck_assert_int_eq (ls_event_queue_peek_time (queue), least->time);
      ck_assert_uint_eq (pop (queue), least->id);
      least->live = FALSE;
    }
    if (step % 64 == 0)
      ls_event_queue_check (queue);
  }
}
END_TEST

int main (void) {
  Suite *suite = suite_create ("event_queue");
  TCase *tcase = tcase_create ("order");
  tcase_set_timeout (tcase, 60);
  tcase_add_test (tcase, orders_by_time_priority_sequence);
  tcase_add_test (tcase, equal_times_are_first_in_first_out);
  tcase_add_test (tcase, remove_from_the_middle_moves_both_ways);
  tcase_add_loop_test (tcase, agrees_with_a_sorted_list, 0, 10);
  suite_add_tcase (suite, tcase);
  return bed_main (suite);
}
