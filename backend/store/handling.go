package store

// handled keeps what was done with calls besides passing them on.
func (w *writer) handled(batch []entry) error {
	for i := range batch {
		c := &batch[i].call
		if !c.Cached && c.Approval == "" {
			continue
		}
		_, err := w.tx.ExecContext(w.ctx, `INSERT INTO handling (call_id, cached, approval) SELECT id, ?, ? FROM call WHERE id = ?
			ON CONFLICT (call_id) DO NOTHING`, c.Cached, string(c.Approval), c.ID)
		if err != nil {
			return err
		}
	}
	return nil
}
