package supervisor

// BothEras reports whether a server has a connection in the modern era beside its
// legacy one at this moment.
func (s *Supervisor) BothEras(id string) bool {
	r := s.fleet.Load().byID[id]
	return r != nil && r.live.Load().modern.usable()
}
