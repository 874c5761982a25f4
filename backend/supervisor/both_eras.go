package supervisor

// BothEras reports whether a server has a modern connection open beside its legacy one.
func (s *Supervisor) BothEras(id string) bool {
	r := s.fleet.Load().byID[id]
	return r != nil && r.live.Load().modern.usable()
}
