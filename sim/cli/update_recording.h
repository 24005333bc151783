/* Recording a run of updates: who is there, spans of workers' time as events, the update log.
 *
 * Ranks are the workers' GPUs, worker by worker, then the servers' hosts. Ownership: borrows the run.
 */
#pragma once

#include "trace/recorder.h"
#include "train/run/update_run.h"

G_BEGIN_DECLS

typedef struct LsUpdateRecording LsUpdateRecording;

LsUpdateRecording *ls_update_recording_new (const char *path, LsUpdateRun *run,
                                            const LsRecorderOptions *options, GError **error);
void ls_update_recording_free (LsUpdateRecording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsUpdateRecording, ls_update_recording_free)
LsRecorder *ls_update_recording_recorder (LsUpdateRecording *recording);

G_END_DECLS
