// What `nats bench --js` does with one publisher and one subscriber, with the client it is made of: messages are published in
// batches of 100, each of which is acknowledged before the next, and read by a consumer that takes each of them.
//
//	flow URL MESSAGES SIZE
//
// It prints how many arrived in a second.
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

const batch = 100

func main() {
	messages, _ := strconv.Atoi(os.Args[2])
	size, _ := strconv.Atoi(os.Args[3])
	stream := connect()
	if _, err := stream.AddStream(&nats.StreamConfig{Name: "BENCH", Subjects: []string{"bench"}}); err != nil {
		log.Fatal(err)
	}
	over, count := make(chan time.Time), 0
	take := func(*nats.Msg) {
		if count++; count == messages {
			over <- time.Now()
		}
	}
	if _, err := connect().Subscribe("bench", take, nats.OrderedConsumer()); err != nil {
		log.Fatal(err)
	}
	began, payload := time.Now(), make([]byte, size)
	for sent := 0; sent < messages; sent++ {
		if _, err := stream.PublishAsync("bench", payload); err != nil {
			log.Fatal(err)
		}
		if sent%batch == batch-1 {
			<-stream.PublishAsyncComplete()
		}
	}
	fmt.Println(float64(messages) / (<-over).Sub(began).Seconds())
}

func connect() nats.JetStreamContext {
	connection, err := nats.Connect(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	stream, err := connection.JetStream(nats.PublishAsyncMaxPending(batch))
	if err != nil {
		log.Fatal(err)
	}
	return stream
}
