/* Event queue: see event_queue.h for model, invariants and cost. */
#include "engine/event_queue.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "engine/fixed.h"

#define SLOT_BITS 24
#define SEQUENCE_BITS 38
#define SLOT_MASK ((G_GUINT64_CONSTANT (1) << SLOT_BITS) - 1)
#define PRIORITY_MAX 3u
/* The root lies at array index 3, so that the children of each entry fill one cache line. */
#define ROOT_OFFSET 3u
#define LINE_BYTES 64u
#define FREE_SLOT G_MAXUINT32

/* Time in the upper 64 bits; priority, sequence and slot in the lower, from most to least significant.
 * Times are never negative, so keys compare as unsigned integers: no branch to mispredict. */
typedef LsUint128 Key;

typedef struct {
  guint32 generation;
  LsEvent event;
} Slot;

struct LsEventQueue {
  Key *keys;          /* heap index i is keys[i + ROOT_OFFSET] */
  guint32 *positions; /* of each slot: heap index, FREE_SLOT when free */
  Slot *slots;
  guint32 *free_slots;
  guint32 n_free;
  guint32 length; /* entries in the heap, the hole at the root included */
  guint32 capacity;
  guint64 sequence;
  gboolean hole; /* the root was popped and not yet replaced */
};

static inline Key make_key (gint64 time_ps, guint64 order) {
  return ((Key) (guint64) time_ps << 64) | order;
}

static inline gint64 key_time (Key key) {
  return (gint64) (guint64) (key >> 64);
}

static inline guint32 key_slot (Key key) {
  return (guint32) ((guint64) key & SLOT_MASK);
}

static inline Key *key_at (const LsEventQueue *queue, guint32 index) {
  return &queue->keys[index + ROOT_OFFSET];
}

static inline void place (LsEventQueue *queue, guint32 index, Key key) {
  *key_at (queue, index) = key;
  queue->positions[key_slot (key)] = index;
}

static void grow (LsEventQueue *queue) {
  guint32 capacity = queue->capacity ? queue->capacity * 2 : 64;
  LS_REQUIRE (capacity <= SLOT_MASK + 1, "more than 2^24 pending events");
  gsize bytes = (((gsize) capacity + ROOT_OFFSET + 1) * sizeof (Key) + LINE_BYTES - 1) / LINE_BYTES;
  Key *keys = aligned_alloc (LINE_BYTES, bytes * LINE_BYTES);
  LS_REQUIRE (keys != NULL, "out of memory for the event queue");
  if (queue->capacity) {
    memcpy (keys, queue->keys, ((gsize) queue->length + ROOT_OFFSET) * sizeof (Key));
    free (queue->keys);
  }
  queue->keys = keys;
  queue->slots = g_renew (Slot, queue->slots, capacity);
  queue->positions = g_renew (guint32, queue->positions, capacity);
  queue->free_slots = g_renew (guint32, queue->free_slots, capacity);
  /* Slot 0 is never given, so that 0 can mean "none". */
  for (guint32 slot = capacity - 1; slot >= MAX (queue->capacity, 1u); slot--) {
    queue->slots[slot] = (Slot){0};
    queue->positions[slot] = FREE_SLOT;
    queue->free_slots[queue->n_free++] = slot;
  }
  queue->capacity = capacity;
}

LsEventQueue *ls_event_queue_new (void) {
  LsEventQueue *queue = g_new0 (LsEventQueue, 1);
  grow (queue);
  queue->slots[0] = (Slot){0};
  queue->positions[0] = FREE_SLOT;
  return queue;
}

void ls_event_queue_free (LsEventQueue *queue) {
  if (!queue)
    return;
  free (queue->keys);
  g_free (queue->slots);
  g_free (queue->positions);
  g_free (queue->free_slots);
  g_free (queue);
}

static void sift_up (LsEventQueue *queue, guint32 index, Key key) {
  while (index > 0) {
    guint32 parent = (index - 1) / 4;
    Key above = *key_at (queue, parent);
    if (above < key)
      break;
    place (queue, index, above);
    index = parent;
  }
  place (queue, index, key);
}

/* Index among four siblings of the least, as arithmetic: a wrong guess costs more than the compare. */
static inline guint32 least_of_four (const Key *keys) {
  guint32 left = (guint32) (keys[1] < keys[0]);
  guint32 right = 2u + (guint32) (keys[3] < keys[2]);
  __asm__("" : "+r"(left), "+r"(right)); /* keeps the compiler from making branches of them again */
  guint32 take_right = 0u - (guint32) (keys[right] < keys[left]);
  return left ^ ((left ^ right) & take_right);
}

/* The same for the last family, which may be smaller. */
static guint32 least_of_few (const Key *keys, guint32 n) {
  guint32 least = 0;
  for (guint32 child = 1; child < n; child++)
    if (keys[child] < keys[least])
      least = child;
  return least;
}

static void sift_down (LsEventQueue *queue, guint32 index, Key key) {
  const guint32 length = queue->length;
  for (guint32 first = 4 * index + 1; first < length; first = 4 * index + 1) {
    const Key *family = key_at (queue, first);
    guint32 least = G_LIKELY (first + 4 <= length) ? least_of_four (family)
                                                   : least_of_few (family, length - first);
    if (key < family[least])
      break;
    place (queue, index, family[least]);
    index = first + least;
  }
  place (queue, index, key);
}

static void fill_hole (LsEventQueue *queue) {
  if (!queue->hole)
    return;
  queue->hole = FALSE;
  queue->length--;
  if (queue->length > 0)
    sift_down (queue, 0, *key_at (queue, queue->length));
}

static inline guint64 make_order (LsEventQueue *queue, guint priority, guint32 slot) {
  guint64 sequence = queue->sequence++;
  LS_REQUIRE (sequence < (G_GUINT64_CONSTANT (1) << SEQUENCE_BITS), "more than 2^38 events");
  return ((guint64) priority << (SLOT_BITS + SEQUENCE_BITS)) | (sequence << SLOT_BITS) | slot;
}

guint32 ls_event_queue_push (LsEventQueue *queue, gint64 time_ps, guint priority, LsEvent event) {
  LS_ASSERT (priority <= PRIORITY_MAX);
  if (G_UNLIKELY (queue->n_free == 0 || queue->length + 1 >= queue->capacity))
    grow (queue);
  guint32 slot = queue->free_slots[--queue->n_free];
  queue->slots[slot].event = event;
  Key key = make_key (time_ps, make_order (queue, priority, slot));
  if (queue->hole) {
    queue->hole = FALSE;
    sift_down (queue, 0, key);
  } else {
    sift_up (queue, queue->length++, key);
  }
  return slot;
}

gboolean ls_event_queue_is_empty (const LsEventQueue *queue) {
  return queue->length == (queue->hole ? 1 : 0);
}

gint64 ls_event_queue_peek_time (LsEventQueue *queue) {
  fill_hole (queue);
  LS_ASSERT (queue->length > 0);
  return key_time (*key_at (queue, 0));
}

static inline void release_slot (LsEventQueue *queue, guint32 slot) {
  queue->positions[slot] = FREE_SLOT;
  queue->slots[slot].generation++;
  queue->free_slots[queue->n_free++] = slot;
}

LsEvent ls_event_queue_pop (LsEventQueue *queue, guint32 *freed_slot) {
  fill_hole (queue);
  LS_ASSERT (queue->length > 0);
  Key key = *key_at (queue, 0);
  guint32 slot = key_slot (key);
  LsEvent event = queue->slots[slot].event;
  release_slot (queue, slot);
  queue->hole = TRUE;
  *freed_slot = slot;
  return event;
}

/* The entry at `index` was replaced by `key`, which may belong higher or lower. */
static void resift (LsEventQueue *queue, guint32 index, Key key) {
  if (index > 0 && key < *key_at (queue, (index - 1) / 4))
    sift_up (queue, index, key);
  else
    sift_down (queue, index, key);
}

void ls_event_queue_cancel (LsEventQueue *queue, guint32 slot) {
  fill_hole (queue);
  guint32 index = queue->positions[slot];
  LS_REQUIRE (slot < queue->capacity && index != FREE_SLOT,
              "cancelling an event that is not pending");
  release_slot (queue, slot);
  queue->length--;
  if (index < queue->length)
    resift (queue, index, *key_at (queue, queue->length));
}

void ls_event_queue_reschedule (LsEventQueue *queue, guint32 slot, gint64 time_ps) {
  fill_hole (queue);
  guint32 index = queue->positions[slot];
  LS_REQUIRE (slot < queue->capacity && index != FREE_SLOT,
              "rescheduling an event that is not pending");
  guint priority = (guint) ((guint64) *key_at (queue, index) >> (SLOT_BITS + SEQUENCE_BITS));
  Key key = make_key (time_ps, make_order (queue, priority, slot));
  resift (queue, index, key);
}

guint32 ls_event_queue_generation (const LsEventQueue *queue, guint32 slot) {
  return queue->slots[slot].generation;
}

gboolean ls_event_queue_is_pending (const LsEventQueue *queue, guint32 slot, guint32 generation) {
  return slot > 0 && slot < queue->capacity && queue->positions[slot] != FREE_SLOT &&
         queue->slots[slot].generation == generation;
}

void ls_event_queue_check (LsEventQueue *queue) {
  fill_hole (queue);
  for (guint32 i = 0; i < queue->length; i++) {
    Key key = *key_at (queue, i);
    LS_REQUIRE (i == 0 || *key_at (queue, (i - 1) / 4) < key, "heap order broken at %u", i);
    LS_REQUIRE (queue->positions[key_slot (key)] == i, "slot index broken at %u", i);
  }
}
