package host

import "sync"

// A memo keeps what was worked out before, for all shells of all nodes: they run the same scripts over
// the same files, and read most of them again and again. It is bounded, as what is asked for may hold a
// value, and so be another each time.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	most  int // entries
	known map[K]V
}

// get is what make gives for a key, which must follow from the key alone. An error is not kept.
func (m *memo[K, V]) get(key K, make func() (V, error)) (V, error) {
	v, ok := m.find(key)
	if ok {
		return v, nil
	}
	v, err := make()
	if err == nil {
		m.put(key, v)
	}
	return v, err
}

func (m *memo[K, V]) find(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.known[key]
	return v, ok
}

func (m *memo[K, V]) put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= m.most {
		m.known = map[K]V{}
	}
	m.known[key] = v
}
