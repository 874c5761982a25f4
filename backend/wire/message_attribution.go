package wire

import (
	"strconv"
	"strings"
)

// callByToken finds the call whose progress token the server names, whatever stream the message
// arrived on.
func (s *serverMessages) callByToken(raw []byte) *pendingCall {
	if len(raw) < 2 || len(raw) > 64 || raw[0] != '"' {
		return nil
	}
	key := string(raw[1 : len(raw)-1])
	_, number, _ := strings.Cut(key, ".")
	id, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if pc := s.pending[id]; pc != nil && pc.sentToken == key {
		return pc
	}
	return nil
}

// callOfProgress returns the call of a progress notification, and the params with the token of the
// client. The call is nil if it has ended or never existed.
func (s *serverMessages) callOfProgress(data []byte, env Envelope) (*pendingCall, []byte) {
	params := Bytes(data, env.Params)
	p, err := ScanParams(params)
	if err != nil {
		s.reportJunk(data, err.Error())
		return nil, nil
	}
	pc := s.callByToken(Bytes(params, p.NotifiedProgressToken))
	if pc == nil || pc.sink == nil {
		s.stats.late.Add(1)
		return nil, nil
	}
	return pc, pc.restoreToken(params, p.NotifiedProgressToken)
}

// callOfRequest returns the call that a request of the server belongs to, or nil.
func (s *serverMessages) callOfRequest(params []byte, p *Params) *pendingCall {
	if task, related := p.RelatedTaskID(params); related {
		return s.callForTask(task)
	}
	if pc := s.callByToken(Bytes(params, p.ProgressToken)); pc != nil {
		return pc
	}
	return s.onlyPendingCall()
}

// callOfLogMessage returns the call that a log message belongs to, or nil.
func (s *serverMessages) callOfLogMessage(params []byte) *pendingCall {
	p, err := ScanParams(params)
	if err != nil { // it may name a task in a way that we cannot read
		return nil
	}
	if task, related := p.RelatedTaskID(params); related {
		return s.callForTask(task)
	}
	return s.onlyPendingCall()
}

func (s *serverMessages) callForTask(task string) *pendingCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return waitingForTask(s.pending, task)
}

func (s *serverMessages) onlyPendingCall() *pendingCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return onlyWithSink(s.pending)
}
