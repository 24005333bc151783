/* Text of the schema. See schema.h. */
#include "trace/schema.h"

#include "base/assert.h"

/* One string per table; step and step_rank follow in ls_schema_tables(), which knows the parts. */
static const char tables[] =
    "CREATE TABLE run(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
    "CREATE TABLE string(id INTEGER PRIMARY KEY, value TEXT NOT NULL UNIQUE);"
    "CREATE TABLE kind(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, class TEXT NOT NULL"
    " CHECK(class IN('compute','communication','memory','host','storage','wait')));"
    "CREATE TABLE axis(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "CREATE TABLE phase(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "CREATE TABLE job(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, policy TEXT NOT NULL,"
    " gpus INTEGER NOT NULL, start_ns INTEGER NOT NULL, summary TEXT);"
    "CREATE TABLE node(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, node_group TEXT NOT NULL,"
    " gpu TEXT, rack TEXT);"
    "CREATE TABLE rank_class(class INTEGER PRIMARY KEY, rank INTEGER NOT NULL,"
    " size INTEGER NOT NULL);"
    "CREATE TABLE rank(rank INTEGER PRIMARY KEY, job_id INTEGER NOT NULL REFERENCES job,"
    " job_rank INTEGER NOT NULL, role TEXT NOT NULL CHECK(role IN('worker','server','host')),"
    " node INTEGER REFERENCES node, device INTEGER, mig TEXT,"
    " class INTEGER NOT NULL REFERENCES rank_class, dp INTEGER, tp INTEGER, pp INTEGER,"
    " cp INTEGER, ep INTEGER, UNIQUE(job_id,role,job_rank));"
    "CREATE TABLE resource(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL UNIQUE,"
    " node INTEGER, rank INTEGER, source TEXT, target TEXT, tier TEXT, capacity REAL NOT NULL,"
    " unit TEXT NOT NULL);"
    "CREATE TABLE stream(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    /* the streams of a rank that has rows in `event`; position 0 is the one whose time is accounted */
    "CREATE TABLE rank_stream(rank INTEGER, stream_id INTEGER, position INTEGER NOT NULL,"
    " PRIMARY KEY(rank,stream_id)) WITHOUT ROWID;"
    "CREATE TABLE comm_group(id INTEGER PRIMARY KEY, job_id INTEGER NOT NULL,"
    " axis_id INTEGER NOT NULL, size INTEGER NOT NULL);"
    "CREATE TABLE comm_member(group_id INTEGER, position INTEGER, rank INTEGER,"
    " PRIMARY KEY(group_id,position)) WITHOUT ROWID;"
    "CREATE TABLE collective(id INTEGER PRIMARY KEY, group_id INTEGER NOT NULL,"
    " sequence INTEGER NOT NULL, algorithm TEXT, protocol TEXT, message_bytes INTEGER,"
    " first_ready_ns INTEGER, last_ready_ns INTEGER, last_rank INTEGER,"
    " UNIQUE(group_id,sequence));"
    "CREATE TABLE event(id INTEGER PRIMARY KEY, step INTEGER, rank INTEGER NOT NULL,"
    " stream_id INTEGER NOT NULL, kind_id INTEGER NOT NULL, axis_id INTEGER, phase_id INTEGER,"
    " name_id INTEGER NOT NULL, layer INTEGER, microbatch INTEGER, chunk INTEGER,"
    " collective_id INTEGER, peer INTEGER, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
    " wait_ns INTEGER, slowed_ns INTEGER, exposed_ns INTEGER, flops REAL, bytes INTEGER,"
    " cause_id INTEGER, cause_rank INTEGER, cause_resource_id INTEGER, bottleneck_id INTEGER,"
    " CHECK(end_ns>=start_ns));"
    "CREATE TABLE sample(rank INTEGER, resource_id INTEGER, name_id INTEGER NOT NULL,"
    " t_ns INTEGER NOT NULL, value REAL NOT NULL, CHECK((rank IS NULL)<>(resource_id IS NULL)));"
    "CREATE TABLE fault(id INTEGER PRIMARY KEY, replica INTEGER NOT NULL, job_id INTEGER,"
    " component TEXT NOT NULL, kind TEXT NOT NULL, node INTEGER, rank INTEGER,"
    " resource_id INTEGER, domain TEXT, start_us INTEGER NOT NULL, end_us INTEGER,"
    " lost_gpu_s REAL, cause TEXT, n_nodes INTEGER);"
    "CREATE TABLE interval(id INTEGER PRIMARY KEY, replica INTEGER NOT NULL, job_id INTEGER,"
    " kind TEXT NOT NULL, start_us INTEGER NOT NULL, end_us INTEGER NOT NULL, gpus INTEGER,"
    " spares_free INTEGER, steps INTEGER, tokens INTEGER, fault_id INTEGER);"
    "CREATE TABLE gradient(id INTEGER PRIMARY KEY, replica INTEGER NOT NULL,"
    " job_id INTEGER NOT NULL, worker INTEGER NOT NULL, clock INTEGER NOT NULL,"
    " read_version INTEGER NOT NULL, applied_version INTEGER, staleness INTEGER NOT NULL,"
    " read_ns INTEGER, computed_ns INTEGER, arrived_ns INTEGER, applied_ns INTEGER,"
    " action TEXT NOT NULL, reason TEXT, scale REAL, samples INTEGER);"
    "CREATE TABLE update_log(id INTEGER PRIMARY KEY, replica INTEGER NOT NULL,"
    " job_id INTEGER NOT NULL, operation TEXT NOT NULL, worker INTEGER, shard INTEGER,"
    " version INTEGER, peer_set INTEGER, gradient_id INTEGER, t_ns INTEGER NOT NULL,"
    /* peer: of a pair_average; closes: the last apply of its version */
    " peer INTEGER, closes INTEGER);"
    "CREATE TABLE peer_set(id INTEGER, position INTEGER, worker INTEGER NOT NULL,"
    " PRIMARY KEY(id,position)) WITHOUT ROWID;"
    /* steps of a campaign that are kept: workers and samples of one step */
    "CREATE TABLE kept_steps(replica INTEGER NOT NULL, job_id INTEGER, start_us INTEGER NOT NULL,"
    " end_us INTEGER NOT NULL, steps INTEGER NOT NULL, workers INTEGER NOT NULL,"
    " samples INTEGER NOT NULL);"
    "CREATE TABLE metric(replica INTEGER, job_id INTEGER, name TEXT, updates INTEGER,"
    " samples INTEGER, t_ns INTEGER, value REAL, PRIMARY KEY(replica,job_id,name,updates))"
    " WITHOUT ROWID;";

#define PART_COLUMN(id, name) name "_ns INTEGER,"
static const char step_tables[] =
    "CREATE TABLE step(job_id INTEGER, step INTEGER, start_ns INTEGER NOT NULL,"
    " end_ns INTEGER NOT NULL, tokens INTEGER," LS_PARTS (
        PART_COLUMN) " PRIMARY KEY(job_id,step)) WITHOUT ROWID;"
                     "CREATE TABLE step_rank(job_id INTEGER, step INTEGER, rank INTEGER," LS_PARTS (
                         PART_COLUMN) " caused_wait_ns INTEGER, peak_bytes INTEGER, PRIMARY "
                                      "KEY(job_id,step,rank)) WITHOUT ROWID;";
#undef PART_COLUMN

/* A track of Perfetto's views is (rank, stream): rank x 1024 + stream; the track of a process is
 * -1 - rank; a counter's is 2 x (owner x 65536 + name), plus 1 where the owner is a resource. */
static const char views[] =
    "CREATE VIEW events AS SELECT e.id,j.name job,e.step,e.rank,r.node,r.dp,r.tp,r.pp,"
    "s.name stream,k.name kind,k.class,a.name axis,p.name phase,n.value name,e.layer,"
    "e.microbatch,e.chunk,e.collective_id,e.peer,e.start_ns,e.end_ns,e.end_ns-e.start_ns"
    " duration_ns,e.wait_ns,e.slowed_ns,e.exposed_ns,e.flops,e.bytes,e.cause_id,"
    "cr.name cause_resource,b.name bottleneck,c.size members"
    " FROM event e JOIN rank r ON r.rank=e.rank JOIN job j ON j.id=r.job_id"
    " JOIN rank_class c ON c.class=r.class JOIN stream s ON s.id=e.stream_id"
    " JOIN kind k ON k.id=e.kind_id LEFT JOIN axis a ON a.id=e.axis_id"
    " LEFT JOIN phase p ON p.id=e.phase_id JOIN string n ON n.id=e.name_id"
    " LEFT JOIN resource b ON b.id=e.bottleneck_id"
    " LEFT JOIN resource cr ON cr.id=e.cause_resource_id;"
    /* Every rank of a class did what its representative's rows say, at the same times. */
    "CREATE VIEW events_expanded AS SELECT e.id,e.step,r.rank,e.rank representative,r.node,r.dp,"
    "r.tp,r.pp,s.name stream,k.name kind,k.class,a.name axis,p.name phase,n.value name,e.layer,"
    "e.microbatch,e.chunk,e.start_ns,e.end_ns,e.end_ns-e.start_ns duration_ns,e.wait_ns,"
    "e.slowed_ns,e.exposed_ns,e.flops,e.bytes"
    " FROM event e JOIN rank o ON o.rank=e.rank JOIN rank r ON r.class=o.class"
    " JOIN stream s ON s.id=e.stream_id JOIN kind k ON k.id=e.kind_id"
    " LEFT JOIN axis a ON a.id=e.axis_id LEFT JOIN phase p ON p.id=e.phase_id"
    " JOIN string n ON n.id=e.name_id;"
    "CREATE VIEW sample_spans AS SELECT rank,resource_id,name_id,t_ns start_ns,"
    "lead(t_ns) OVER (PARTITION BY rank,resource_id,name_id ORDER BY t_ns) end_ns,value"
    " FROM sample;"
    "CREATE VIEW process AS SELECT r.rank upid,r.rank pid,'rank '||r.rank name FROM rank r;"
    "CREATE VIEW thread AS SELECT t.rank*1024+t.stream_id utid,t.stream_id tid,s.name name,"
    "t.rank upid FROM rank_stream t JOIN stream s ON s.id=t.stream_id;"
    "CREATE VIEW thread_track AS SELECT t.rank*1024+t.stream_id id,s.name name,"
    "t.rank*1024+t.stream_id utid FROM rank_stream t JOIN stream s ON s.id=t.stream_id;"
    "CREATE VIEW process_track AS SELECT -1-r.rank id,'rank '||r.rank name,r.rank upid"
    " FROM rank r;"
    "CREATE VIEW slice AS SELECT e.id id,e.start_ns ts,e.end_ns-e.start_ns dur,"
    "e.rank*1024+e.stream_id track_id,k.class category,n.value name,0 depth,NULL parent_id,"
    "NULL arg_set_id FROM event e JOIN kind k ON k.id=e.kind_id JOIN string n ON n.id=e.name_id;"
    "CREATE VIEW counter AS SELECT rowid id,t_ns ts,CASE WHEN rank IS NULL"
    " THEN 2*(resource_id*65536+name_id)+1 ELSE 2*(rank*65536+name_id) END track_id,value"
    " FROM sample;"
    "CREATE VIEW counter_track AS SELECT DISTINCT CASE WHEN c.rank IS NULL"
    " THEN 2*(c.resource_id*65536+c.name_id)+1 ELSE 2*(c.rank*65536+c.name_id) END id,"
    "n.value||' of '||CASE WHEN c.rank IS NULL THEN o.name ELSE 'rank '||c.rank END name"
    " FROM sample c JOIN string n ON n.id=c.name_id LEFT JOIN resource o ON o.id=c.resource_id;";

static const char *const indexes[] = {
    "CREATE INDEX event_rank_start ON event(rank,start_ns)",
    "CREATE INDEX event_cause ON event(cause_id)",
    "CREATE INDEX event_step_end ON event(step,end_ns)",
    "CREATE INDEX event_collective ON event(collective_id) WHERE collective_id IS NOT NULL",
    "CREATE INDEX sample_rank ON sample(name_id,rank,t_ns)",
    "CREATE INDEX sample_resource ON sample(resource_id,name_id,t_ns)",
    NULL};

static const struct {
  const char *target; /* of the INSERT; NULL: a statement of its own */
  guint columns;
  guint32 doubles;
  guint32 texts;
} row_tables[LS_N_ROWS] = {
#define ROW_SHAPE(id, target, n, doubles, texts) \
  [LS_ROW_##id] = {target, n, (guint32) (doubles), (guint32) (texts)},
    LS_ROW_TABLES (ROW_SHAPE)
#undef ROW_SHAPE
};

char *ls_schema_tables (void) {
  return g_strconcat (tables, step_tables, NULL);
}

const char *ls_schema_views (void) {
  return views;
}

const char *const *ls_schema_indexes (void) {
  return indexes;
}

char *ls_schema_statement (LsRowTable table) {
  if (table == LS_ROW_CAUSE)
    return g_strdup ("UPDATE event SET cause_id=?1 WHERE id=?2");
  LS_REQUIRE (table < LS_N_ROWS, "no table %d", (int) table);
  g_autoptr (GString) sql = g_string_new (NULL);
  g_string_printf (sql, "INSERT INTO %s VALUES(", row_tables[table].target);
  for (guint i = 0; i < row_tables[table].columns; i++)
    g_string_append (sql, i == 0 ? "?" : ",?");
  g_string_append_c (sql, ')');
  return g_strdup (sql->str);
}

guint ls_row_columns (LsRowTable table) {
  return row_tables[table].columns;
}

guint32 ls_row_doubles (LsRowTable table) {
  return row_tables[table].doubles;
}

guint32 ls_row_texts (LsRowTable table) {
  return row_tables[table].texts;
}
