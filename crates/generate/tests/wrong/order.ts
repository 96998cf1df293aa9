/** Steps out of order: `tsc --strict` finds an error in each line that says so. */

import * as authClient from "../golden/auth_client.js";
import * as gamePlayer from "../golden/game_player.js";
import * as roundsHost from "../golden/rounds_host.js";

export async function wrong(start: authClient.Start, session: authClient.AfterSucc, asked: authClient.AfterAuth): Promise<void> {
    await start.get("r", "t"); // error
    await start.rvk("t"); // error
    await start.recv(); // error
    await (await start.auth("a", "b")).auth("a", "b"); // error
    await (await start.auth("a", "b")).get("r", "t"); // error
    await start.auth("a", "b").recv(); // error
    await start.auth("a"); // error
    await start.auth(7n, "b"); // error
    await session.auth("a", "b"); // error
    await session.recv(); // error
    await (await session.get("a", "t")).get("b", "t"); // error
    await (await session.rvk("t")).get("b", "t"); // error
    await (await asked.recv()).next.get("r", "t"); // error
    (await asked.recv()).tok; // error
    const event = await asked.recv();
    if (event.type === "Res") { // error
        event.next.abort(); // error
    }
    if (event.type === "Fail") {
        await event.next.rvk("t"); // error
        event.tok; // error
        await event.next.auth("a", "b");
    }
    const granted: authClient.AfterSucc = start; // error
    granted.abort();
}

export async function wrongToo(player: gamePlayer.Start, host: roundsHost.Start): Promise<void> {
    await player.guess("5"); // error
    await player.guess(5); // error
    await (await player.quit()).guess(5n); // error
    await host.ask(1n); // error
    await (await host.begin(2n)).begin(2n); // error
}
