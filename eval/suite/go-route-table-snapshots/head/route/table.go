// Package route decides to which backend a message goes.
package route

import (
	"sort"
	"sync"
	"sync/atomic"
)

// Table maps topics to backend addresses. It is safe for concurrent use and
// made by NewTable. Lookups are far more frequent than changes and take no
// lock.
type Table struct {
	// routes points to the current map. A map is never changed once it is
	// stored here; a change stores a new one.
	routes atomic.Pointer[map[string]string]
	// mu is held while a change is prepared, so that none gets lost.
	mu sync.Mutex
}

// NewTable returns an empty table.
func NewTable() *Table {
	t := &Table{}
	t.routes.Store(&map[string]string{})
	return t
}

// Lookup returns the backend for a topic.
func (t *Table) Lookup(topic string) (string, bool) {
	backend, ok := (*t.routes.Load())[topic]
	return backend, ok
}

// Set adds or changes a route.
func (t *Table) Set(topic, backend string) {
	t.change(func(routes map[string]string) {
		routes[topic] = backend
	})
}

// Remove takes a backend out of service, with all its routes. Returns how
// many there were.
func (t *Table) Remove(backend string) int {
	removed := 0
	t.change(func(routes map[string]string) {
		for topic, b := range routes {
			if b == backend {
				delete(routes, topic)
				removed++
			}
		}
	})
	return removed
}

// Topics returns the topics that have a route, sorted.
func (t *Table) Topics() []string {
	routes := *t.routes.Load()
	topics := make([]string, 0, len(routes))
	for topic := range routes {
		topics = append(topics, topic)
	}
	sort.Strings(topics)
	return topics
}

// change calls edit with a copy of the routes and then makes that the
// current one.
func (t *Table) change(edit func(routes map[string]string)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.routes.Load()
	routes := make(map[string]string, len(old)+1)
	for topic, backend := range old {
		routes[topic] = backend
	}
	edit(routes)
	t.routes.Store(&routes)
}
