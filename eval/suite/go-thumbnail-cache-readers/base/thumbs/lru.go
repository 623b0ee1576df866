package thumbs

import "container/list"

// entry is what the list holds.
type entry struct {
	key   string
	image []byte
}

// order keeps the entries by their last use, the newest in front.
type order struct {
	entries *list.List
	byKey   map[string]*list.Element
}

func newOrder() *order {
	return &order{entries: list.New(), byKey: make(map[string]*list.Element)}
}

// lookup finds an entry and counts that as a use of it.
func (o *order) lookup(key string) (*entry, bool) {
	element, ok := o.byKey[key]
	if !ok {
		return nil, false
	}
	o.entries.MoveToFront(element)
	return element.Value.(*entry), true
}

// add puts a new entry in front. The key must not be there yet.
func (o *order) add(e *entry) {
	o.byKey[e.key] = o.entries.PushFront(e)
}

// dropOldest removes the entry that was not used for the longest time.
func (o *order) dropOldest() *entry {
	last := o.entries.Back()
	if last == nil {
		return nil
	}
	e := o.entries.Remove(last).(*entry)
	delete(o.byKey, e.key)
	return e
}
