/** The golden TypeScript endpoints at work, against each other. */

import * as authClient from "./auth_client.js";
import * as authServer from "./auth_server.js";
import * as roundsHost from "./rounds_host.js";
import * as roundsPlayer from "./rounds_player.js";
import * as shopCustomer from "./shop_customer.js";
import * as shopShop from "./shop_shop.js";
import * as timedClient from "./timed_client.js";

/** One end of a connection in memory. */
class End {
    private readonly chunks: Uint8Array[] = [];
    private ended = false;
    private wake: () => void = () => {};
    other: End | null = null;

    static pair(): [End, End] {
        const [left, right] = [new End(), new End()];
        [left.other, right.other] = [right, left];
        return [left, right];
    }

    write(data: Uint8Array): void {
        this.other?.chunks.push(data);
        this.other?.wake();
    }

    end(): void {
        for (const end of [this, this.other]) {
            if (end !== null) {
                end.ended = true;
                end.wake();
            }
        }
    }

    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
        while (true) {
            const chunk = this.chunks.shift();
            if (chunk !== undefined) {
                yield chunk;
            } else if (this.ended) {
                return;
            } else {
                await new Promise<void>((resolve) => (this.wake = resolve));
            }
        }
    }
}

function check(holds: boolean, what: string): asserts holds {
    if (!holds) {
        throw new Error(what);
    }
}

async function failing(step: Promise<unknown>, kind: new (...parts: never[]) => Error): Promise<Error & { blame: string | null }> {
    try {
        await step;
    } catch (error) {
        check(error instanceof kind, `another error: ${error}`);
        return error as Error & { blame: string | null };
    }
    throw new Error("no error");
}

async function logsInAndOut(): Promise<void> {
    const [ours, theirs] = End.pair();
    const serve = async (): Promise<void> => {
        const event = await new authServer.Start(authServer.JsonLines.over("client", theirs)).recv();
        const refused = await event.next.fail(401n);
        const granted = await (await refused.recv()).next.succ("token");
        const last = await granted.recv();
        check(last.type === "Rvk" && last.rvkTok === "token", "revoked");
    };
    const server = serve();
    const start = new authClient.Start(authClient.JsonLines.over("server", ours));
    check((await failing(start.auth("123", "x"), authClient.Refused)).blame === null, "nobody is to blame");
    const failed = await (await start.auth("bob", "x")).recv();
    check(failed.type === "Fail" && failed.code === 401n, "refused");
    await failing(start.auth("bob", "x"), authClient.Used);
    const granted = await (await failed.next.auth("bob", "y")).recv();
    check(granted.type === "Succ", "granted");
    await granted.next.rvk(granted.tok);
    await server;
}

async function blamesThePeer(): Promise<void> {
    const cases: readonly (readonly [string, string])[] = [
        ['{"type":"Succ","tok":7}\n', "server sent `Succ` with a field of the wrong type"],
        ['{"type":"Res","content":""}\n', "server sent `Res`; expected `Succ` from server, `Fail` from server"],
        ["hello\n", "server sent what is no message"],
        ['{"type":"Fail","code":1,"code":2}\n', "server sent what is no message: an object with a name twice"],
        ['{"type":"Fail","code":9223372036854775808}\n', "server sent `Fail` with a field of the wrong type"],
        ['{"type":"Succ","tok":"\\ud800"}\n', "server sent what is no message: half a character"],
        ["", "server ended the session before its end"],
    ];
    for (const [line, why] of cases) {
        const [ours, theirs] = End.pair();
        const waiting = await new authClient.Start(authClient.JsonLines.over("server", ours)).auth("bob", "x");
        theirs.write(new TextEncoder().encode(line));
        theirs.end();
        const error = await failing(waiting.recv(), authClient.SessionError);
        check(error.message.startsWith(why) && error.blame === "server", `${line}: ${error.message}`);
    }
}

async function abortingIsToldOf(): Promise<void> {
    const [ours, theirs] = End.pair();
    (await new authClient.Start(authClient.JsonLines.over("server", ours)).auth("bob", "x")).abort();
    const event = await new authServer.Start(authServer.JsonLines.over("client", theirs)).recv();
    const error = await failing((await event.next.succ("t")).recv(), authServer.Ended);
    check(error.blame === "client", "the client has gone");
}

async function countsRounds(): Promise<void> {
    const [ours, theirs] = End.pair();
    const play = async (): Promise<void> => {
        let state = (await new roundsPlayer.Start(roundsPlayer.JsonLines.over("host", theirs)).recv()).next;
        while (true) {
            const event = await state.recv();
            if (event.type === "End") {
                return;
            }
            state = await event.next.answer("yes");
        }
    };
    const player = play();
    let state = await new roundsHost.Start(roundsHost.JsonLines.over("player", ours)).begin(2n);
    for (const left of [2n, 1n]) {
        await failing(state.end(), roundsHost.Refused);
        state = (await (await state.ask(left)).recv()).next;
    }
    await state.end();
    await player;
}

async function everyTypeTravels(): Promise<void> {
    const [ours, theirs] = End.pair();
    const key = new TextEncoder().encode("\0key");
    const sell = async (): Promise<void> => {
        const hello = await new shopShop.Start(shopShop.JsonLines.over("customer", theirs)).recv();
        check(hello.account === "account of ann" && hello.key.length === 4, "hello");
        const order = await hello.next.recv();
        check(order.type === "Order" && order.article.tags[0] === "tea" && order.box[0] === 2n && order.box[1], "order");
        const bye = await (await order.next.confirm(3, "order 2")).recv();
        check(bye.type === "Bye" && bye.loop === 1n, "bye");
    };
    const shop = sell();
    const start = new shopCustomer.Start(shopCustomer.JsonLines.over("shop", ours));
    await failing(start.hello("ann", "broken", key, null), shopCustomer.PredicateFailed);
    const state = await start.hello("ann", "account of ann", key, null);
    const answer = await (await state.order({ id: 1n, tags: ["tea"] }, 2n, 1.5, [2n, true])).recv();
    check(answer.type === "Confirm" && answer.total === 3, "confirmed");
    await answer.next.bye(1n);
    await shop;
}

async function whatHasNoFormIsNotSent(): Promise<void> {
    const wrong: readonly ((state: authServer.AfterAuth) => Promise<unknown>)[] = [
        (state) => state.fail(1n << 63n),
        (state) => state.fail(-(1n << 63n) - 1n),
        (state) => state.succ("\ud800"),
    ];
    for (const send of wrong) {
        const [ours, theirs] = End.pair();
        theirs.write(new TextEncoder().encode('{"type":"Auth","uname":"bob","pwd":"x"}\n'));
        const event = await new authServer.Start(authServer.JsonLines.over("client", ours)).recv();
        check((await failing(send(event.next), authServer.Refused)).blame === null, "nobody is to blame");
    }
}

async function waitsAsLongAsTheProtocolSays(): Promise<void> {
    const really = globalThis.setTimeout;
    // Five seconds are over at once.
    const soon = (callback: () => void, time: number): unknown => {
        check(time === 5000, `${time}`);
        return really(callback, 0);
    };
    globalThis.setTimeout = soon as typeof setTimeout;
    const [ours, theirs] = End.pair();
    const waiting = await new timedClient.Start(timedClient.JsonLines.over("server", ours)).ask("where?");
    check((await failing(waiting.recv(), timedClient.Late)).blame === null, "nobody is to blame");
    await failing(waiting.recv(), timedClient.Used);
    theirs.end();
    // What has begun to arrive is waited for.
    const [here, there] = End.pair();
    const asked = await new timedClient.Start(timedClient.JsonLines.over("server", here)).ask("where?");
    there.write(new TextEncoder().encode('{"type":"Busy"'));
    const answer = asked.recv();
    await new Promise((resolve) => really(resolve, 20));
    there.write(new TextEncoder().encode("}\n"));
    check((await answer).type === "Busy", "busy");
    globalThis.setTimeout = really;
}

for (const play of [logsInAndOut, blamesThePeer, abortingIsToldOf, countsRounds, everyTypeTravels, whatHasNoFormIsNotSent, waitsAsLongAsTheProtocolSays]) {
    await play();
    console.log(play.name);
}
