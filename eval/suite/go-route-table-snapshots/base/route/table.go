// Package route decides to which backend a message goes.
package route

import (
	"sort"
	"sync"
)

// Table maps topics to backend addresses. It is safe for concurrent use and
// made by NewTable.
type Table struct {
	mu     sync.RWMutex
	routes map[string]string
}

// NewTable returns an empty table.
func NewTable() *Table {
	return &Table{routes: make(map[string]string)}
}

// Lookup returns the backend for a topic.
func (t *Table) Lookup(topic string) (string, bool) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	backend, ok := t.routes[topic]
	return backend, ok
}

// Set adds or changes a route.
func (t *Table) Set(topic, backend string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.routes[topic] = backend
}

// Remove takes a backend out of service, with all its routes. Returns how
// many there were.
func (t *Table) Remove(backend string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	removed := 0
	for topic, b := range t.routes {
		if b == backend {
			delete(t.routes, topic)
			removed++
		}
	}
	return removed
}

// Topics returns the topics that have a route, sorted.
func (t *Table) Topics() []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	topics := make([]string, 0, len(t.routes))
	for topic := range t.routes {
		topics = append(topics, topic)
	}
	sort.Strings(topics)
	return topics
}
