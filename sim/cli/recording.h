/* Recording a simulation: what the trace is told about it, and the steps that it is handed.
 *
 * Call order: new (before the run), ls_recording_step() as the simulation's step function, finish
 * after it; free removes a database that was not finished.
 * Ownership: borrows the simulation; owns the recorder and all the records that describe the run.
 */
#pragma once

#include "trace/recorder.h"
#include "train/run/simulation.h"

G_BEGIN_DECLS

typedef struct LsRecording LsRecording;

/* What the run is, as the trace tells it; steps and ranks of `options` are taken over. */
LsRecording *ls_recording_new (const char *path, LsSimulation *simulation,
                               const LsRecorderOptions *options, GError **error);
void ls_recording_free (LsRecording *recording);
G_DEFINE_AUTOPTR_CLEANUP_FUNC (LsRecording, ls_recording_free)

LsRecorder *ls_recording_recorder (LsRecording *recording);
/* An LsStepFunc. */
gboolean ls_recording_step (gpointer recording, const LsStepResult *step, GError **error);

/* Rows and bytes that a run would write. */
typedef struct {
  gint64 events;
  gint64 bytes;
} LsRecordingSize;
LsRecordingSize ls_recording_size (LsSimulation *simulation, const LsRecorderOptions *options);

G_END_DECLS
