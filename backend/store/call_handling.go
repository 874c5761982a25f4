package store

// insertHandling keeps what few calls have: what was done with them besides passing them on,
// and where a mistake of ours ended them.
func (w *writer) insertHandling(batch []entry) error {
	for i := range batch {
		c := &batch[i].call
		if c.Cached || c.Approval != "" {
			_, err := w.tx.ExecContext(w.ctx, `INSERT INTO handling (call_id, cached, approval) SELECT id, ?, ? FROM call WHERE id = ?
				ON CONFLICT (call_id) DO NOTHING`, c.Cached, string(c.Approval), c.ID)
			if err != nil {
				return err
			}
		}
		if c.Stack != "" {
			_, err := w.tx.ExecContext(w.ctx, `INSERT INTO stack (call_id, text) SELECT id, ? FROM call WHERE id = ?
				ON CONFLICT (call_id) DO NOTHING`, c.Stack, c.ID)
			if err != nil {
				return err
			}
		}
	}
	return nil
}
