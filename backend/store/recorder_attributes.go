package store

import (
	"encoding/json"

	"github.com/drawbridge-mcp/drawbridge/backend/core"
)

// insertAttributes stores the attributes that few calls have: whether the result came from the
// cache, the decision of the user about the call, the stack trace if an internal error ended it, and
// progress notifications. It also stores tasks.
func (w *writer) insertAttributes(batch []entry) error {
	for i := range batch {
		c := &batch[i].call
		if c.Task != nil {
			if err := w.saveTask(&batch[i], &w.refs[i]); err != nil {
				return err
			}
		}
		if c.Cached || c.Approval != "" {
			_, err := w.tx.ExecContext(w.ctx, `INSERT INTO call_attributes (call_id, cached, approval) SELECT id, ?, ? FROM call WHERE id = ?
				ON CONFLICT (call_id) DO NOTHING`, c.Cached, string(c.Approval), c.ID)
			if err != nil {
				return err
			}
		}
		if c.Stack != "" {
			_, err := w.tx.ExecContext(w.ctx, `INSERT INTO stack_trace (call_id, text) SELECT id, ? FROM call WHERE id = ?
				ON CONFLICT (call_id) DO NOTHING`, c.Stack, c.ID)
			if err != nil {
				return err
			}
		}
		if batch[i].progress != nil {
			_, err := w.tx.ExecContext(w.ctx, `INSERT INTO progress_log (call_id, notifications) SELECT id, ? FROM call WHERE id = ?
				ON CONFLICT (call_id) DO NOTHING`, string(batch[i].progress), c.ID)
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// progressLog returns the notifications as a JSON array without secrets, or nil if one of them is not
// valid JSON.
func (r *rules) progressLog(notifications []core.ProgressNotification) []byte {
	text, err := core.EncodeJSON(notifications)
	if err != nil {
		return nil
	}
	if clean := r.secrets.AppendJSON(nil, text); json.Valid(clean) {
		return clean
	}
	return nil
}
