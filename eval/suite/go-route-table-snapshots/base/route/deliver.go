package route

import "fmt"

// Sender sends a message to a backend.
type Sender interface {
	Send(backend string, body []byte) error
}

// Deliver sends a message to the backend of its topic.
func Deliver(t *Table, s Sender, topic string, body []byte) error {
	backend, ok := t.Lookup(topic)
	if !ok {
		return fmt.Errorf("route: no backend for %q", topic)
	}
	return s.Send(backend, body)
}
