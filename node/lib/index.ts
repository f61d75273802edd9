// What the package gives out.

export { LeaflogError, type LeaflogReason } from "./error.ts";
export type { LeaflogFormat, LeaflogMetadata } from "./metadata.ts";
export { type LeaflogCreateOptions, type LeaflogRepoOptions, LeaflogSessionRepo } from "./repository.ts";
export { LeaflogSession, type SessionClass, type SessionExtras } from "./session.ts";
export { type LeaflogSnapshot, LeaflogStorage, type NewEntry, type SnapshotOptions, type Verification } from "./storage.ts";
export {
	type CreateOptions,
	type LeaflogInfo,
	type LeaflogListing,
	LeaflogStore,
	type LeaflogStoreOptions,
	type Named,
} from "./store.ts";
