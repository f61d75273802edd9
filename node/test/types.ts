// What the package says of itself fits what pi asks for. Compiled by `npm test`, never run.

import {
	type Session as PiSession,
	Session,
	type SessionMetadata,
	type SessionRepo,
	type SessionStorage,
	type SessionTree,
} from "@earendil-works/pi-agent-core";
import type { SessionBackendFixture } from "@earendil-works/pi-agent-core/session/testing";
import {
	type LeaflogCreateOptions,
	LeaflogError,
	type LeaflogMetadata,
	LeaflogSessionRepo,
	LeaflogStore,
} from "leaflog";

const repository = new LeaflogSessionRepo({ sessionsRoot: "sessions", Session: Session<LeaflogMetadata> });
export const asPi: SessionRepo<LeaflogMetadata, LeaflogCreateOptions, { cwd?: string }> = repository;
export const asFixture: Pick<SessionBackendFixture, "repository"> = { repository };

export async function uses(): Promise<void> {
	const session: PiSession<LeaflogMetadata> = await repository.create({ cwd: "/work" });
	const metadata: SessionMetadata = await session.getMetadata();
	const own = new LeaflogSessionRepo({ database: "sessions.db", flush: true });
	const tree: SessionTree = await own.open({ ...(await session.getMetadata()), id: metadata.id });
	const { messages, thinkingLevel } = await (await own.create()).snapshot("main");
	const storage: SessionStorage<LeaflogMetadata> = await new LeaflogStore({ sessionsRoot: "s" }).open({ path: "p" });
	const error: { code: string } = new LeaflogError({ code: "locked", message: thinkingLevel });
	// @ts-expect-error A place is a folder or a database.
	new LeaflogSessionRepo({});
	// @ts-expect-error Formats other than pi v4 are the store's.
	await repository.create({ format: "pi-v3" });
	console.log(tree, messages, storage, error);
}
