/* State of collectives that run as messages, and of the messages in flight: plain records of the engine's own files.
 *
 * Arrays are addressed by number, never by pointers kept across calls: they may move when they grow.
 */
#pragma once

#include "engine/observer.h"
#include "engine/rank_state.h"

/* Something that loads resources, as a flow of the sharing. */
typedef struct {
  guint32 flow, event;
  guint32 bottleneck;
  gint64 last_ps;     /* `remaining` holds for then */
  LsInt128 remaining; /* work */
  gint64 cap;         /* rate with nobody else there */
  guint32 held;       /* what it counts for in holding.h */
  gboolean contends;
} LsLoad;

/* Owners of flows with this bit are flights, the others activities. */
#define LS_OWNER_FLIGHT (1u << 31)

typedef enum {
  LS_FLIGHT_FREE,
  LS_FLIGHT_NEW,      /* starts at this instant */
  LS_FLIGHT_LIGHT,    /* runs at its cap, unknown to the sharing; one event at its end */
  LS_FLIGHT_LATENCY,  /* waits to load; an event then */
  LS_FLIGHT_STARTING, /* begins to load at this instant */
  LS_FLIGHT_LOADING,  /* a flow of the sharing */
} LsFlightState;

/* Names one use of a resource by a light flight: the usage-th of the flight. */
typedef struct {
  guint32 flight, usage;
} LsLightUse;

typedef struct {
  LsLightUse next, before; /* flight LS_NONE: none */
} LsLightLink;

/* A message of a collective, from its start to its arrival. */
typedef struct {
  LsLoad load;
  guint8 state;
  guint32 group, from, to, round; /* positions in the group */
  guint32 n_usages;
  const LsUsage *usages;
  gint64 rate_cap, factor; /* of its path, beside compute */
  gint64 cap;              /* rate while it meets nobody */
  gint64 bytes;
  gint64 start_ps, load_ps; /* load_ps: when the latency is over */
  gint64 alone_ps; /* when it would arrive, since the first round, if it were alone on its path */
  /* In LsEngine.light_begins; LS_EVENT_NONE: it loads, or is not light */
  guint32 begins;
  LsLightLink *links; /* one per usage, kept when the flight ends */
  guint32 links_size;
} LsFlight;

/* What light flights take of a resource. */
typedef struct {
  LsInt128 light; /* sum of usage x cap, 2^-96 units/ps */
  LsLightUse first;
} LsLightLoad;

typedef struct {
  gint64 bytes, rate, duration_ps;
} LsFlightDuration;

/* Messages of a later round that have come to a member already. */
typedef struct {
  guint32 count;
  gint64 alone_ps;
} LsEarly;

/* Entries of LsRoundMember.early to begin with. */
#define LS_EARLY_ROUNDS 4u

typedef struct {
  guint32 round;      /* that it is in; the number of rounds: it has ended */
  guint32 open_sends; /* messages of the round that it sends and that have not ended */
  guint32 due;        /* messages of the round that have not come */
  guint32 window;     /* entries of `early`, a power of two: rounds round .. round + window - 1 */
  LsEarly *early;     /* in LsRounds.early, or its own if window > LS_EARLY_ROUNDS */
  /* Since the first round, with every message alone on its path: when the round began, and when the next may. */
  gint64 alone_ps, alone_next_ps;
  gint64 last_ps;     /* a message of its own ended last then */
  guint32 bottleneck; /* of that one; the least of several */
  gboolean ended;
  /* the path it sent over last, and what a message alone gets there */
  const LsUsage *path_usages;
  guint32 path_n;
  gint64 path_cap, path_rate;
  guint64 path_epoch; /* of capacities */
  guint32 path_bottleneck;
} LsRoundMember;

/* Facts of a meeting: what a record says of a collective, whenever its member ends. */
typedef struct {
  gint64 sequence;
  gint64 first_ready_ps, last_ready_ps;
  guint32 last_rank;
  LsCause last_cause; /* what let the last member come */
  guint8 blame;
  gint64 late_ps; /* as in LsHistory */
} LsMeeting;

/* A group's collective that runs as messages. Members end one by one, and may come to the next before
 * the last has ended. */
typedef struct {
  struct LsCachedTransfer *cached;
  LsMeeting meeting;
  guint32 n_open;         /* members that have not ended; 0: none runs */
  guint32 event;          /* of its first round */
  LsRoundMember *members; /* by position */
  LsEarly *early;
} LsRounds;
