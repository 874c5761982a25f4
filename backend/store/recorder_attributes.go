package store

// insertAttributes stores the attributes that few calls have: whether the result came from the
// cache, the decision of the user about the call, and the stack trace if an internal error ended
// it. It also stores tasks.
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
	}
	return nil
}
