/* State of a running engine as a whole and of its transfers: plain records, shared by the engine's own
 * files only. Streams and ranks are in rank_state.h, groups and messages in meeting_state.h.
 *
 * Arrays are addressed by number, never by pointers kept across calls: they may move when they grow.
 */
#pragma once

#include "base/assert.h"
#include "engine/engine.h"
#include "engine/event_queue.h"
#include "engine/meeting_state.h"
#include "engine/rank_state.h"
#include "engine/sharing.h"

typedef enum {
  LS_EVENT_BLOCK_END = 1, /* a: rank, b: stream */
  LS_EVENT_DELAY_END,     /* a: rank, b: stream */
  LS_EVENT_LATENCY_END,   /* a: activity */
  LS_EVENT_TRANSFER_END,  /* a: activity */
  LS_EVENT_FLIGHT,        /* a: flight: it begins to load, or has arrived */
  LS_EVENT_ROUNDS,        /* a: group: the first round of its collective begins */
  LS_EVENT_TIMER,         /* which: by its slot */
  LS_EVENT_RANK_START,    /* a: rank */
  LS_EVENT_CONVOY,        /* a: convoy: it has come to its end */
} LsEventKind;

/* A template with what the engine knows of it. */
typedef struct LsCachedTransfer {
  const LsTransfer *transfer;
  gint64 *alone_rate;
  guint32 *bottleneck;
  guint64 epoch; /* of capacities for which alone_rate holds */
  guint64 solo_epoch;
  gint64 solo_ps; /* how long it takes where nobody else is; 0: it cannot be said beforehand */
} LsCachedTransfer;

typedef enum { LS_OWNER_GROUP, LS_OWNER_MESSAGE, LS_OWNER_COPY, LS_OWNER_OUTSIDE } LsOwnerKind;

typedef enum {
  LS_ACTIVITY_FREE,
  LS_ACTIVITY_LATENCY,
  LS_ACTIVITY_STARTING,
  LS_ACTIVITY_LOADING
} LsActivityState;

typedef struct {
  LsCachedTransfer *cached;
  guint8 state;
  guint8 owner_kind;
  guint32 owner;        /* group, message, or rank of a copy */
  guint32 owner_stream; /* copy: its stream */
  guint32 phase;
  gint64 factor;         /* beside compute; 0: not yet fixed */
  gint64 bytes_override; /* < 0: as the template says */
  gint64 start_ps;
  gint64 alone_ps; /* of the phases begun so far */
  LsLoad load;
} LsActivity;

typedef struct {
  LsTimerFunc func;
  gpointer self;
} LsTimer;

/* A transfer that no program asked for. */
typedef struct {
  LsTransferFunc func;
  gpointer self;
  guint64 data;
  guint32 activity;
  guint32 generation;
} LsOutside;

struct LsHoldings;
struct LsConvoyMemo;

/* Work of operations with LS_OP_WORK_TABLE: by rank, or made when asked. */
typedef struct {
  const gint64 *values;
  LsTableFunc func; /* NULL: values */
  gpointer self;
} LsTable;

struct LsEngine {
  struct LsHoldings *holdings; /* NULL: nobody asks */
  gint64 now_ps;
  LsEventQueue *queue;
  /* Light flights whose latency is not over: what will hold them is counted from then on, without an event of the engine */
  LsEventQueue *light_begins;
  LsSharing *sharing;
  guint64 capacity_epoch;
  /* Resource -> gint64 *: capacity before it was first changed; NULL: none was */
  GHashTable *nominal;
  GPtrArray *resource_names;
  GArray *resource_per_s;   /* double */
  GArray *resource_device;  /* guint32: device whose memory it is */
  GArray *resource_carried; /* LsInt128: bytes x usage */
  GArray *devices;          /* LsEngineDevice */
  LsNumbers dirty_devices;
  GArray *sharers;      /* LsSharer, scratch of device.c */
  GArray *ranks;        /* LsRankState */
  GArray *streams;      /* LsStream */
  GArray *slots;        /* LsSlotEntry, of all ranks */
  LsHistory *history;   /* from the start: [k x number of streams + stream], k < LS_HISTORY */
  LsRankMemory *memory; /* from the start: by rank */
  GArray *groups;       /* LsGroup */
  GArray *channels;     /* LsChannel */
  GHashTable *channel_of;
  GArray *messages; /* LsMessage */
  LsNumbers free_messages;
  GArray *activities; /* LsActivity */
  LsNumbers free_activities;
  LsNumbers starting; /* activities that begin to load at this instant */
  GArray *places;     /* LsLightLoad by resource; none before messages */
  GArray *flights;    /* LsFlight */
  LsNumbers free_flights;
  LsNumbers flights_to_go;      /* flights that start, or begin to load, at this instant */
  LsFlightDuration lately;      /* what was last worked out */
  GHashTable *copy_of;          /* LsCachedTransfer by rank and descriptor */
  GArray *timers;               /* LsTimer by event slot */
  GArray *tables;               /* LsTable */
  GPtrArray *outside_transfers; /* LsCachedTransfer */
  GArray *outsides;             /* LsOutside */
  LsNumbers free_outsides;
  LsStreamRefs todo;  /* to advance */
  GPtrArray *convoys; /* LsConvoy, by number from 1 */
  LsNumbers free_convoys;
  GArray *convoy_of;        /* guint32 by resource: the convoy that has it, 0: none */
  LsNumbers convoy_groups;  /* whose collectives have begun at this instant */
  GHashTable *convoy_memos; /* LsConvoyMemo by its key */
  struct LsConvoyMemo *convoy_scratch;
  guint32 n_convoys; /* under way */
  gboolean convoys_off;
  const LsExpander *expander;
  gpointer expander_self;
  const LsObserver *observers[4];
  gpointer observer_selves[4];
  guint n_observers;
  gboolean wants_rates, wants_messages;
  LsWorkFunc work_func;
  LsDrawFunc draw_func;
  gpointer draw_self;
  gpointer work_self;
  guint8 idle_part;
  gboolean started, in_callback, running, halted;
  LsWatchFunc watch;
  gpointer watch_self;
  /* A value of n_events. */
  guint64 next_look;
  guint64 n_open; /* streams not finished */
  guint64 n_events, n_operations;
  GError *fault; /* found while running: mismatched collectives */
};

static inline LsRankState *ls_rank_at (LsEngine *e, guint32 rank) {
  return &((LsRankState *) (gpointer) e->ranks->data)[rank];
}
static inline LsStream *ls_stream_at (LsEngine *e, guint32 rank, guint stream) {
  return &((LsStream *) (gpointer) e->streams->data)[ls_rank_at (e, rank)->first_stream + stream];
}
static inline LsSlotEntry *ls_slot_at (LsEngine *e, const LsRankState *state, guint slot) {
  return &((LsSlotEntry *) (gpointer) e->slots->data)[state->first_slot + slot];
}
static inline LsEngineDevice *ls_device_at (LsEngine *e, guint32 device) {
  return &((LsEngineDevice *) (gpointer) e->devices->data)[device];
}
static inline LsGroup *ls_group_at (LsEngine *e, guint32 group) {
  return &((LsGroup *) (gpointer) e->groups->data)[group];
}
/* Members that the i-th running one stands for. */
static inline guint32 ls_group_count (const LsGroup *group, guint32 i) {
  return group->counts ? group->counts[i] : 1;
}
static inline LsActivity *ls_activity_at (LsEngine *e, guint32 activity) {
  return &((LsActivity *) (gpointer) e->activities->data)[activity];
}
static inline LsFlight *ls_flight_at (LsEngine *e, guint32 flight) {
  return &((LsFlight *) (gpointer) e->flights->data)[flight];
}
static inline LsLightLoad *ls_light_load_at (LsEngine *e, guint32 resource) {
  return &((LsLightLoad *) (gpointer) e->places->data)[resource];
}
static inline LsMessage *ls_message_at (LsEngine *e, guint32 message) {
  return &((LsMessage *) (gpointer) e->messages->data)[message];
}
static inline LsChannel *ls_channel_at (LsEngine *e, guint32 channel) {
  return &((LsChannel *) (gpointer) e->channels->data)[channel];
}
static inline const LsInstruction *ls_instruction_at (LsEngine *e, guint32 rank, guint stream,
                                                      guint32 pc) {
  return &ls_rank_at (e, rank)->program->streams[stream].instructions[pc];
}
